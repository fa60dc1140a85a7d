// Package trackfile reads tracks and routes from files as people have them: GPX, TCX, FIT,
// KML, KMZ, GeoJSON, IGC and NMEA, alone, compressed with gzip or bzip2, and in ZIP and tar archives. What
// a file is shows in its first bytes; its name is for people. A format that is not read is
// refused by its name, with what to do.
//
// Everything is bounded by Limits: bytes after decompression, entries of archives, archives in
// archives, points. Nothing is written to disk.
package trackfile

import (
	"archive/tar"
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
	"github.com/signalbox-dev/signalbox/internal/defaults"
)

// Limits bound what one file may cost. Zero values take the defaults of their tags.
type Limits struct {
	Document  gpx.Limits // one document, alone or in an archive
	Bytes     int64      `envDefault:"68719476736"` // of all documents of an archive, after decompression: 64 GiB
	Entries   int        `envDefault:"200000"`      // of all archives in it
	Nesting   int        `envDefault:"4"`           // compressions and archives in each other
	Directory int64      `envDefault:"33554432"`    // bytes of a ZIP archive's table of contents: 32 MiB
	Memory    int64      `envDefault:"33554432"`    // bytes of a ZIP archive that is no file on disk, such as one in another: 32 MiB
}

func (l Limits) orDefault() Limits {
	defaults.Fill(&l)
	defaults.Fill(&l.Document)
	return l
}

// Document is one file, or one entry of an archive.
type Document struct {
	Name   string // of the file, and after a slash the path in the archive
	Format Format // "" if it is not known
	Tracks []gpx.Track
	Bytes  int64 // that were read of the source for it, before decompression
	// Err says that there are no tracks: a *FormatError, a *gpx.WaypointsError, or what is wrong
	// with the document. Part of a document is not read.
	Err error
}

// FormatError refuses a format that is not read.
type FormatError struct {
	Format Format // "" if it is not known
	Advice string
}

// Error names the format and what to do.
func (e *FormatError) Error() string {
	if e.Format == "" {
		return "the file is of no format that is known: " + e.Advice
	}
	return fmt.Sprintf("the file is %s: %s", e.Format, e.Advice)
}

// limitError names the one of the Limits that a file exceeds.
type limitError struct{ Reason string }

// Error gives the reason.
func (e *limitError) Error() string { return e.Reason }

// Read yields the documents of a file in their order: one, or those of an archive. A ZIP
// archive is read in place if r is an open file on disk (an io.ReaderAt with a Stat).
func Read(name string, r io.Reader, l Limits) iter.Seq[Document] {
	return func(yield func(Document) bool) {
		w := &walk{limits: l.orDefault(), yield: yield}
		w.raw = counter{r: r}
		if err := w.file(name, &w.raw, 0); err != nil && !errors.Is(err, errStop) {
			_ = w.emit(Document{Name: name, Err: err}) // it is the last one
		}
	}
}

// errStop means that the caller wants no more.
var errStop = errors.New("no more documents are wanted")

// walk is the reading of one file.
type walk struct {
	limits    Limits
	yield     func(Document) bool
	raw       counter
	bytes     int64 // after decompression, so far
	entries   int
	zipped    int64 // bytes of the current entry of a ZIP archive in place
	reported  int64
	inPlace   bool
	exhausted error // the limit that ends the file
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (w *walk) emit(d Document) error {
	d.Bytes, w.reported = w.raw.n-w.reported, w.raw.n
	if w.inPlace {
		d.Bytes, w.zipped = w.zipped, 0
	}
	if !w.yield(d) {
		return errStop
	}
	return w.exhausted
}

// file reads what is in r. An error ends the archive that it is in; what is wrong with a
// document itself is part of the Document.
func (w *walk) file(name string, r io.Reader, depth int) error {
	in := bufio.NewReaderSize(r, peeked)
	begin, err := in.Peek(peeked)
	if len(begin) == 0 && err != nil && !errors.Is(err, io.EOF) {
		return w.emit(Document{Name: name, Err: err})
	}
	format := sniff(begin)
	if format.contains() && depth >= w.limits.Nesting {
		return w.emit(Document{Name: name, Format: format, Err: &limitError{fmt.Sprintf("archives are more than %d deep in each other: "+
			"unpack the outer ones", w.limits.Nesting)}})
	}
	switch format {
	case formatGzip:
		z, err := gzip.NewReader(in)
		if err != nil {
			return w.emit(Document{Name: name, Format: format, Err: fmt.Errorf("the gzip compression is damaged: %w", err)})
		}
		return w.file(name, &metered{w, z}, depth+1)
	case formatBzip2:
		return w.file(name, &metered{w, bzip2.NewReader(in)}, depth+1)
	case formatTar:
		return w.tar(name, in, depth)
	case formatZIP:
		return w.zip(name, in, depth)
	}
	d := Document{Name: name, Format: format}
	d.Tracks, d.Err = w.document(format, begin, in)
	return w.emit(d)
}

// document reads one document whole.
func (w *walk) document(format Format, begin []byte, in io.Reader) (tracks []gpx.Track, err error) {
	l := w.limits.Document
	switch format {
	case formatGPX, formatTCX, formatKML, formatXML:
		for t, err := range gpx.Read(in, l) {
			if err != nil {
				return nil, err
			}
			tracks = append(tracks, t)
		}
		return tracks, nil
	case formatFIT, formatGeoJSON, formatIGC, formatNMEA:
		body, err := io.ReadAll(io.LimitReader(in, l.Bytes+1))
		if int64(len(body)) > l.Bytes {
			err = &limitError{fmt.Sprintf("the document is longer than %d bytes", l.Bytes)}
		}
		if err != nil {
			return nil, err
		}
		switch format {
		case formatFIT:
			return readFIT(body, l.Points)
		case formatIGC, formatNMEA:
			return readLog(format, body, l.Points)
		}
		return readGeoJSON(body, l.Points)
	}
	if len(begin) == 0 {
		return nil, errors.New("the file is empty")
	}
	return nil, &FormatError{format, format.advice()}
}

// tar reads the entries of a tar archive.
func (w *walk) tar(name string, in io.Reader, depth int) error {
	for t := tar.NewReader(in); ; {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return w.emit(Document{Name: name, Format: formatTar, Err: fmt.Errorf("the archive is damaged: %w", err)})
		case h.FileInfo().IsDir(), h.Typeflag == tar.TypeXGlobalHeader:
			continue
		}
		if err := w.entry(name+"/"+h.Name, h.FileInfo().Mode(), func() error { return w.file(name+"/"+h.Name, t, depth+1) }); err != nil {
			return err
		}
	}
}

// entry counts an entry of an archive and reads it, if it is a file.
func (w *walk) entry(name string, mode fs.FileMode, read func() error) error {
	if w.entries++; w.entries > w.limits.Entries {
		w.exhausted = &limitError{fmt.Sprintf("the archive holds more than %d entries: divide it", w.limits.Entries)}
		return w.exhausted
	}
	if !mode.IsRegular() {
		return w.emit(Document{Name: name, Err: &FormatError{"", "it is a link or a device, and not followed"}})
	}
	return read()
}

// metered counts what decompression brings, and ends the file at the limit.
type metered struct {
	w *walk
	r io.Reader
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if m.w.bytes += int64(n); m.w.bytes > m.w.limits.Bytes {
		m.w.exhausted = &limitError{fmt.Sprintf("the archive holds more than %d bytes: divide it", m.w.limits.Bytes)}
		return n, m.w.exhausted
	}
	return n, err
}
