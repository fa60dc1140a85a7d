package secret

import (
	"bytes"
	"errors"
	"io"
)

// Writer passes on what is written to it with secrets replaced, also those that come in
// pieces: an end that may begin one is held until more comes, or Close.
type Writer struct {
	by      *Redactor
	to      io.Writer
	held    []byte
	covered int // of held, which a secret that was written before reaches into
}

// Writer makes a writer to another. Close does not close that.
func (r *Redactor) Writer(to io.Writer) *Writer { return &Writer{by: r, to: to} }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.held = append(w.held, p...)
	t := w.by.now()
	return len(p), w.pass(t, t.opens(w.held, 1))
}

// Close passes on what is held.
func (w *Writer) Close() error { return w.pass(w.by.now(), len(w.held)) }

func (w *Writer) pass(t *table, n int) error {
	out, end := t.replace(w.held)
	if w.covered > 0 {
		out = bytes.Clone(out) // what is held stays as it is, to find what begins in it
		stars(out[:w.covered])
	}
	if n > 0 {
		if _, err := w.to.Write(out[:n]); err != nil {
			return err
		}
	}
	w.covered = max(w.covered-n, end-n, 0)
	w.held = append(w.held[:0], w.held[n:]...)
	return nil
}

// file can be read at any place.
type file interface {
	io.ReaderAt
	io.Seeker
	io.Closer
}

// beginning is how much of a secret at the end of what is there yet is taken for one, in bytes.
const beginning = 4

// Reader reads a file, which may grow, with secrets replaced wherever the reading begins and
// ends. An end that may begin a secret is replaced too.
func (r *Redactor) Reader(f file) io.ReadSeekCloser { return &reader{file: f, by: r} }

type reader struct {
	file
	by *Redactor
	at int64
}

func (r *reader) Seek(offset int64, whence int) (n int64, err error) {
	if whence == io.SeekCurrent {
		offset, whence = r.at+offset, io.SeekStart
	}
	if n, err = r.file.Seek(offset, whence); err == nil {
		r.at = n
	}
	return n, err
}

func (r *reader) Read(p []byte) (int, error) {
	t, around := r.by.now(), 0
	if t != nil {
		around = t.longest - 1
	}
	from := max(0, r.at-int64(around))
	window := make([]byte, int(r.at-from)+len(p)+around)
	n, err := r.ReadAt(window, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	window = window[:n]
	out, _ := t.replace(window)
	if open := t.opens(window, beginning); errors.Is(err, io.EOF) && open < n {
		out = append(out[:open:open], window[open:]...)
		stars(out[open:])
	}
	got := copy(p, out[min(int(r.at-from), n):])
	r.at += int64(got)
	if got == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return got, nil
}

// Rewrite replaces secrets in a file in place.
func (r *Redactor) Rewrite(f interface {
	io.ReaderAt
	io.WriterAt
},
) error {
	t := r.now()
	if t == nil {
		return nil
	}
	const step = 64 << 10
	window := make([]byte, step+t.longest-1)
	for at := int64(0); ; at += step {
		n, err := f.ReadAt(window, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if out, end := t.replace(window[:n]); end > 0 {
			if _, err := f.WriteAt(out[:end], at); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}
