package gitcli

import (
	"bytes"
	"fmt"
	"io"
)

// bounded passes on what is written to it, up to a number of bytes. More is dropped, or
// an error that ends the writer.
type bounded struct {
	to   io.Writer
	left int
	cut  bool
	err  error
	seen int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n := min(len(p), b.left)
	b.left -= n
	b.seen += n
	if _, b.err = b.to.Write(p[:n]); b.err == nil && n < len(p) && !b.cut {
		b.err = fmt.Errorf("it writes more than %d bytes", b.seen)
	}
	if b.err != nil {
		return 0, b.err
	}
	return len(p), nil
}

// ending keeps the last bytes that are written to it: git says last what ended it.
type ending struct {
	last []byte
	most int
}

func (e *ending) Write(p []byte) (int, error) {
	e.last = append(e.last, p[max(0, len(p)-e.most):]...)
	if extra := len(e.last) - e.most; extra > 0 {
		e.last = append(e.last[:0], e.last[extra:]...)
	}
	return len(p), nil
}

// pieces calls a function with each piece that is written to it and ends in a byte.
type pieces struct {
	end  byte
	each func(string) error
	rest []byte
}

func (w *pieces) Write(p []byte) (int, error) {
	whole := p
	for {
		piece, rest, ok := bytes.Cut(p, []byte{w.end})
		w.rest = append(w.rest, piece...)
		if !ok {
			return len(whole), nil
		}
		if err := w.each(string(w.rest)); err != nil {
			return 0, err
		}
		p, w.rest = rest, w.rest[:0]
	}
}
