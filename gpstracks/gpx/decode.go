package gpx

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decoded is the text of a document: decompressed, bounded and without a byte
// order mark.
func decoded(r io.Reader, limit int64) (io.Reader, error) {
	in := bufio.NewReader(r)
	begin, _ := in.Peek(4) // an error comes again when it is read
	switch {
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, &Error{Reason: "the gzip compression is damaged", Err: err}
		}
		in = bufio.NewReader(&bounded{r: z, left: limit, limit: limit})
	case bytes.HasPrefix(begin, []byte("PK\x03\x04")):
		return nil, &Error{Reason: "the file is a ZIP archive: unpack it first"}
	default:
		in = bufio.NewReader(&bounded{r: in, left: limit, limit: limit})
	}
	begin, _ = in.Peek(4)
	switch {
	case bytes.HasPrefix(begin, []byte{0xef, 0xbb, 0xbf}):
		_, err := in.Discard(3)
		return in, err
	case bytes.HasPrefix(begin, []byte{0xfe, 0xff}), bytes.HasPrefix(begin, []byte{0, '<'}):
		return &wide{in: in, order: binary.BigEndian}, nil
	case bytes.HasPrefix(begin, []byte{0xff, 0xfe}), bytes.HasPrefix(begin, []byte{'<', 0}):
		return &wide{in: in, order: binary.LittleEndian}, nil
	}
	return in, nil
}

// bounded fails when more than the limit is read.
type bounded struct {
	r           io.Reader
	left, limit int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, &Error{Reason: fmt.Sprintf("the document is longer than %d bytes", b.limit)}
	}
	return n, err
}

// wide reads UTF-16 as UTF-8.
type wide struct {
	in    *bufio.Reader
	order binary.ByteOrder
	out   []byte
	begun bool
}

func (w *wide) Read(p []byte) (int, error) {
	for len(w.out) == 0 {
		r, err := w.unit()
		if err != nil {
			return 0, err
		}
		if utf16.IsSurrogate(r) {
			low, err := w.unit()
			if err != nil {
				return 0, err
			}
			r = utf16.DecodeRune(r, low)
		}
		if w.begun || r != '\ufeff' {
			w.out = utf8.AppendRune(w.out[:0], r)
		}
		w.begun = true
	}
	n := copy(p, w.out)
	w.out = w.out[n:]
	return n, nil
}

func (w *wide) unit() (rune, error) {
	var b [2]byte
	if _, err := io.ReadFull(w.in, b[:]); err != nil {
		return 0, err
	}
	return rune(w.order.Uint16(b[:])), nil
}

// charset reads the encodings that a document may name. One in UTF-16 is
// already UTF-8 here.
func charset(name string, in io.Reader) (io.Reader, error) {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "utf-8", "utf8", "utf-16", "utf-16le", "utf-16be", "us-ascii", "ascii":
		return in, nil
	case "iso-8859-1", "latin1", "latin-1":
		return &narrow{in: bufio.NewReader(in)}, nil
	case "windows-1252", "cp1252":
		return &narrow{in: bufio.NewReader(in), high: windows1252}, nil
	}
	return nil, &Error{Reason: fmt.Sprintf("the encoding %q is not known: write the file in UTF-8", clipped(name, 40))}
}

// windows1252 are the characters from 0x80 to 0x9f. The five that are not
// assigned stand for themselves.
const windows1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

// narrow reads an encoding of one byte a character as UTF-8.
type narrow struct {
	in   *bufio.Reader
	high string // from 0x80 on, where it is not ISO 8859-1
	out  []byte
}

func (n *narrow) Read(p []byte) (int, error) {
	for len(n.out) == 0 {
		c, err := n.in.ReadByte()
		if err != nil {
			return 0, err
		}
		r := rune(c)
		if c >= 0x80 && c < 0xa0 && n.high != "" {
			r = []rune(n.high)[c-0x80]
		}
		n.out = utf8.AppendRune(n.out[:0], r)
	}
	k := copy(p, n.out)
	n.out = n.out[k:]
	return k, nil
}
