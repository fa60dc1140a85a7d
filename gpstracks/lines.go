package gpstracks

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/paulmach/orb"
)

// How a line is stored: its first byte.
const (
	exactLine = 0 // 16 bytes a point
	fixedLine = 1 // differences in units of 1e-7 degrees, as varints
)

// errLines is the error of every damaged geometry.
var errLines = errors.New("gps track: a stored geometry is damaged: collect the track again")

// AppendLines writes lines as stores keep them. They come back exactly as they
// were; those with at most seven decimals, as receivers and sources write them,
// take a fourth of the room of others.
func AppendLines(dst []byte, lines orb.MultiLineString) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(lines)))
	for _, line := range lines {
		dst = binary.AppendUvarint(dst, uint64(len(line)))
		before := len(dst)
		var ok bool
		if dst, ok = appendFixed(append(dst, fixedLine), line); ok {
			continue
		}
		dst = append(dst[:before], exactLine)
		for _, p := range line {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(p[0]))
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(p[1]))
		}
	}
	return dst
}

func appendFixed(dst []byte, line orb.LineString) (out []byte, ok bool) {
	var lastX, lastY int64
	for _, p := range line {
		x, y := fixed(p[0]), fixed(p[1])
		if float64(x)/1e7 != p[0] || float64(y)/1e7 != p[1] {
			return dst, false
		}
		dst = binary.AppendVarint(dst, x-lastX)
		dst = binary.AppendVarint(dst, y-lastY)
		lastX, lastY = x, y
	}
	return dst, true
}

// ParseLines reads what AppendLines wrote.
func ParseLines(b []byte) (orb.MultiLineString, error) {
	n, b, ok := count(b, 1)
	lines := make(orb.MultiLineString, 0, n)
	for range n {
		var points int
		if points, b, ok = count(b, 2); !ok || len(b) == 0 {
			return nil, errLines
		}
		line, kind := make(orb.LineString, points), b[0]
		if b, ok = b[1:], kind <= fixedLine; kind == fixedLine {
			b, ok = parseFixed(b, line)
		} else if ok = ok && len(b) >= 16*points; ok {
			for i := range line {
				line[i] = orb.Point{math.Float64frombits(binary.LittleEndian.Uint64(b)),
					math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))}
				b = b[16:]
			}
		}
		if !ok {
			return nil, errLines
		}
		lines = append(lines, line)
	}
	if !ok || len(b) > 0 {
		return nil, errLines
	}
	return lines, nil
}

// count reads a number of things of which each takes at least size bytes.
func count(b []byte, size int) (n int, rest []byte, ok bool) {
	v, used := binary.Uvarint(b)
	if used <= 0 || v > uint64((len(b)-used)/size) {
		return 0, nil, false
	}
	return int(v), b[used:], true
}

func parseFixed(b []byte, line orb.LineString) (rest []byte, ok bool) {
	var x, y int64
	for i := range line {
		dx, n := binary.Varint(b)
		if n <= 0 {
			return nil, false
		}
		dy, m := binary.Varint(b[n:])
		if m <= 0 {
			return nil, false
		}
		x, y, b = x+dx, y+dy, b[n+m:]
		line[i] = orb.Point{float64(x) / 1e7, float64(y) / 1e7}
	}
	return b, true
}
