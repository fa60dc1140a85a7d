package web

import (
	"errors"
	"io"
	"sync"

	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
)

// Limits of what is read of webhooks before they are verified. The first block of each is
// not counted among the bytes, so that senders of large bodies keep no ordinary
// webhook out.
const (
	blockSize             = 64 << 10
	bodiesAll, bodiesEach = 128, 32
	blocksAll, blocksEach = 48 << 20 / blockSize, 26 << 20 / blockSize
)

var (
	// errFull means that too much is being read of webhooks that nobody has verified yet.
	errFull = errors.New("web: too many webhooks at a time")
	// errUnsigned means that a signature is missing or wrong.
	errUnsigned = errors.New("web: the signature is missing or wrong")
)

// inbox is the memory for webhooks that nobody has verified yet. It keeps what it has
// taken: left to the garbage collector, it would be twice as much.
type inbox struct {
	bodies, blocks limit.Share

	mu    sync.Mutex
	spare []*block
}

type block [blockSize]byte

// read reads a body through the check of its signature, and gives it when it has passed.
// The error is errFull, errUnsigned or that of the reader.
func (b *inbox) read(r io.Reader, sender string, check *signature.Check) ([]byte, error) {
	if !b.bodies.Take(sender, 1) {
		return nil, errFull
	}
	defer b.bodies.Free(sender, 1)
	var blocks []*block
	defer func() {
		b.mu.Lock()
		b.spare = append(b.spare, blocks...)
		b.mu.Unlock()
		b.blocks.Free(sender, int64(max(len(blocks)-1, 0)))
	}()
	for size := 0; ; {
		if len(blocks) > 0 && !b.blocks.Take(sender, 1) {
			return nil, errFull
		}
		one := b.take()
		blocks = append(blocks, one)
		n, err := fill(r, one[:])
		size += n
		_, _ = check.Write(one[:n]) // it does not fail
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF):
			return nil, err
		case !check.Passed():
			return nil, errUnsigned
		default:
			return join(blocks, size), nil
		}
	}
}

func (b *inbox) take() *block {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := len(b.spare) - 1
	if last < 0 {
		return new(block)
	}
	one := b.spare[last]
	b.spare = b.spare[:last]
	return one
}

// fill reads until p is full or the reader fails or ends.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = r.Read(p[n:])
		n += more
	}
	return n, err
}

// join copies what blocks hold.
func join(blocks []*block, size int) []byte {
	out := make([]byte, 0, size)
	for _, one := range blocks {
		out = append(out, one[:min(blockSize, size-len(out))]...)
	}
	return out
}
