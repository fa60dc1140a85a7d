package trackfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
)

// onDisk is an open file: a ZIP archive is read in place, its table of contents first.
type onDisk interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}

// zip reads the entries of a ZIP archive.
func (w *walk) zip(name string, in io.Reader, depth int) error {
	archive, size, err := w.archive(in, depth)
	if err != nil {
		return w.emit(Document{Name: name, Format: formatZIP, Err: err})
	}
	contents := &bounded{archive, w.limits.Directory}
	z, err := zip.NewReader(contents, size)
	if err != nil {
		var limit *limitError
		if !errors.As(err, &limit) {
			err = fmt.Errorf("the archive is damaged: %w", err)
		}
		return w.emit(Document{Name: name, Format: formatZIP, Err: err})
	}
	contents.left = math.MaxInt64 // what is read now is bounded by what comes out
	for _, f := range z.File {
		if f.FileInfo().IsDir() {
			continue
		}
		path := name + "/" + f.Name
		err := w.entry(path, f.Mode(), func() error {
			w.zipped += int64(f.CompressedSize64)
			r, err := f.Open()
			if err != nil {
				return w.emit(Document{Name: path, Err: fmt.Errorf("the archive is damaged, or needs a password: %w", err)})
			}
			defer r.Close() // what is wrong with its bytes, its Document says
			return w.file(path, &metered{w, r}, depth+1)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// archive is a ZIP archive as it can be read: a file on disk, or in memory.
func (w *walk) archive(in io.Reader, depth int) (io.ReaderAt, int64, error) {
	if file, ok := w.raw.r.(onDisk); ok && depth == 0 {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			w.inPlace = true
			return file, info.Size(), nil
		}
	}
	body, err := io.ReadAll(io.LimitReader(in, w.limits.Memory+1))
	if err == nil && int64(len(body)) > w.limits.Memory {
		err = &limitError{fmt.Sprintf("the archive is longer than %d bytes, and no file on disk: unpack the outer one", w.limits.Memory)}
	}
	return bytes.NewReader(body), int64(len(body)), err
}

// bounded fails when more than what is left is read.
type bounded struct {
	io.ReaderAt

	left int64
}

func (b *bounded) ReadAt(p []byte, off int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, &limitError{"the table of contents of the archive is too long: divide it"}
	}
	return b.ReaderAt.ReadAt(p, off)
}
