package task

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"sync"
)

// Content is a text that entries of the journal name by its hash. It is kept once, however many name it.
type Content struct {
	ID   string
	Body []byte
}

// Contents reads the texts that entries name. Commit keeps them.
type Contents interface {
	// Content reads one, or ErrNotFound.
	Content(ctx context.Context, id string) ([]byte, error)
}

// NewContent names a text by its SHA-256, in the alphabet of URLs.
func NewContent(body []byte) Content {
	sum := sha256.Sum256(body)
	return Content{base64.RawURLEncoding.EncodeToString(sum[:]), body}
}

// A writer of flate is larger than most of what is packed.
var packers = sync.Pool{New: func() any { w, _ := flate.NewWriter(nil, flate.BestCompression); return w }} // the level is valid

// Pack compresses a body, for stores.
func Pack(body []byte) []byte {
	var out bytes.Buffer
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	w.Reset(&out)
	_, _ = w.Write(body) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// Unpack returns the body that Pack has compressed.
func Unpack(packed []byte) ([]byte, error) {
	return io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
}
