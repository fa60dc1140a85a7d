package export

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// tileNumber is the number of a tile in PMTiles: those of lower zooms come first, and within a zoom
// they follow a Hilbert curve.
func tileNumber(t tile.ID) uint64 {
	n := (uint64(1)<<(2*t.Z) - 1) / 3
	x, y := uint64(t.X), uint64(t.Y)
	for s := uint64(1) << t.Z >> 1; s > 0; s >>= 1 {
		rx, ry := min(x&s, 1), min(y&s, 1)
		n += s * s * ((3 * rx) ^ ry)
		x, y = turned(x, y, rx, ry)
	}
	return n
}

// turned are the lower bits of a place within a quarter of the curve.
func turned(x, y, rx, ry uint64) (uint64, uint64) {
	switch {
	case ry == 1:
		return x, y
	case rx == 1:
		return ^y, ^x
	}
	return y, x
}

// tileOf is the tile of a number.
func tileOf(n uint64) (t tile.ID) {
	for size := uint64(1); n >= size; size *= 4 {
		n -= size
		t.Z++
	}
	var x, y uint64
	for s := uint64(1); s < 1<<t.Z; s <<= 1 {
		rx := n >> 1 & 1
		ry := (n ^ rx) & 1
		x, y = turned(x, y, rx, ry)
		x, y = x&(s-1)+s*rx, y&(s-1)+s*ry
		n >>= 2
	}
	t.X, t.Y = int(x), int(y)
	return t
}

// entry is one of a directory: tiles that follow each other and are the same, or a leaf.
type entry struct {
	number, offset uint64
	length, run    uint32 // run is 0 for a leaf
}

// The layout of an archive: the header and the directory of the root have the first bytes, so that a
// client reads both at once; tiles come next, as they are made.
const (
	headerSize = 127
	rootEnd    = 16 << 10
	leafMin    = 4096 // entries
)

// archive is one while it is written.
type archive struct {
	entries  []entry
	known    map[[16]byte]entry // tiles by their hash
	size     uint64             // of tiles
	tiles    uint64
	contents uint64
}

// WritePMTiles writes an archive of PMTiles version 3, clustered, with equal tiles once. out is empty.
func (p *Plan) WritePMTiles(ctx context.Context, out io.WriteSeeker) error {
	if _, err := out.Seek(rootEnd, io.SeekStart); err != nil {
		return err
	}
	a := &archive{known: map[[16]byte]entry{}}
	if err := p.Each(ctx, func(t tile.ID, body []byte) error { return a.put(out, tileNumber(t), body) }); err != nil {
		return err
	}
	if len(a.entries) == 0 {
		return errors.New("export: the tracks are too small for these zooms: no tile shows one")
	}
	described, err := json.Marshal(p.Describe())
	if err != nil {
		return err
	}
	metadata, err := zip(described)
	if err != nil {
		return err
	}
	root, leaves, err := directories(a.entries)
	if err != nil {
		return err
	}
	for _, part := range [][]byte{metadata, leaves} {
		if _, err := out.Write(part); err != nil {
			return err
		}
	}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = out.Write(append(p.header(a, len(root), len(metadata), len(leaves)), root...))
	return err
}

// put writes a tile, unless an equal one was written.
func (a *archive) put(out io.Writer, number uint64, body []byte) error {
	a.tiles++
	sum := sha256.Sum256(body)
	e, known := a.known[[16]byte(sum[:16])]
	if !known {
		e = entry{offset: a.size, length: uint32(len(body)), run: 1}
		a.known[[16]byte(sum[:16])] = e
		a.size, a.contents = a.size+uint64(len(body)), a.contents+1
		if _, err := out.Write(body); err != nil {
			return err
		}
	}
	if n := len(a.entries); n > 0 {
		if last := &a.entries[n-1]; last.offset == e.offset && last.number+uint64(last.run) == number {
			last.run++
			return nil
		}
	}
	e.number = number
	a.entries = append(a.entries, e)
	return nil
}

// directories are the root and its leaves, if all do not fit into the root.
func directories(entries []entry) (root, leaves []byte, err error) {
	if root, err = directory(entries); err != nil || len(root) <= rootEnd-headerSize {
		return root, nil, err
	}
	for size := leafMin; ; size += size / 4 {
		var above []entry
		leaves = leaves[:0]
		for from := 0; from < len(entries); from += size {
			leaf, err := directory(entries[from:min(from+size, len(entries))])
			if err != nil {
				return nil, nil, err
			}
			above = append(above, entry{number: entries[from].number, offset: uint64(len(leaves)), length: uint32(len(leaf))})
			leaves = append(leaves, leaf...)
		}
		if root, err = directory(above); err != nil || len(root) <= rootEnd-headerSize {
			return root, leaves, err
		}
	}
}

// directory writes entries column by column.
func directory(entries []entry) ([]byte, error) {
	b := binary.AppendUvarint(nil, uint64(len(entries)))
	last := uint64(0)
	for _, e := range entries {
		b = binary.AppendUvarint(b, e.number-last)
		last = e.number
	}
	for _, e := range entries {
		b = binary.AppendUvarint(b, uint64(e.run))
	}
	for _, e := range entries {
		b = binary.AppendUvarint(b, uint64(e.length))
	}
	for i, e := range entries {
		if i > 0 && e.offset == entries[i-1].offset+uint64(entries[i-1].length) {
			b = append(b, 0)
		} else {
			b = binary.AppendUvarint(b, e.offset+1)
		}
	}
	return zip(b)
}

func zip(b []byte) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(b)
	err = errors.Join(err, z.Close())
	return out.Bytes(), err
}

// header is the header; numbers are little-endian.
func (p *Plan) header(a *archive, root, metadata, leaves int) []byte {
	const gzipped, vector = 2, 1
	b := append([]byte("PMTiles"), 3)
	tiles := uint64(rootEnd) + a.size
	for _, n := range []uint64{
		headerSize, uint64(root), tiles, uint64(metadata), tiles + uint64(metadata), uint64(leaves), rootEnd, a.size,
		a.tiles, uint64(len(a.entries)), a.contents,
	} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	b = append(b, 1, gzipped, gzipped, vector, byte(p.MinZoom), byte(p.MaxZoom))
	place := func(at orb.Point) {
		for _, v := range at {
			b = binary.LittleEndian.AppendUint32(b, uint32(int32(math.Round(v*1e7))))
		}
	}
	place(p.Summary.Bounds.Min)
	place(p.Summary.Bounds.Max)
	b = append(b, byte(p.MinZoom))
	place(p.Summary.Bounds.Center())
	return b
}
