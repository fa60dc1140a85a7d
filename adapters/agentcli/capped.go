package agentcli

import (
	"fmt"
	"os"
)

// capped keeps the first and the last half of what is written to it, in a file
// that never grows beyond its limit by more than a line. It is used by one
// goroutine.
type capped struct {
	file *os.File
	half int64
	head int64  // bytes written to the head
	tail []byte // ring of the last half
	lost int64  // bytes that were overwritten in the ring
	next int    // where the ring goes on
}

func newCapped(name string, limit int64) (*capped, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	return &capped{file: f, half: max(1, limit/2)}, err
}

// Write implements io.Writer.
func (c *capped) Write(p []byte) (int, error) {
	n := len(p)
	if room := c.half - c.head; room > 0 {
		part := p[:min(int64(len(p)), room)]
		if _, err := c.file.Write(part); err != nil {
			return 0, err
		}
		c.head += int64(len(part))
		p = p[len(part):]
	}
	for len(p) > 0 {
		if int64(len(c.tail)) < c.half {
			part := p[:min(int64(len(p)), c.half-int64(len(c.tail)))]
			c.tail = append(c.tail, part...)
			p = p[len(part):]
			continue
		}
		k := copy(c.tail[c.next:], p)
		c.lost += int64(k)
		c.next = (c.next + k) % len(c.tail)
		p = p[k:]
	}
	return n, nil
}

// Close writes the tail.
func (c *capped) Close() error {
	if c.lost > 0 {
		if _, err := fmt.Fprintf(c.file, "\n[%d bytes were cut out here]\n", c.lost); err != nil {
			return err
		}
	}
	for _, part := range [][]byte{c.tail[c.next:], c.tail[:c.next]} {
		if _, err := c.file.Write(part); err != nil {
			return err
		}
	}
	return c.file.Close()
}
