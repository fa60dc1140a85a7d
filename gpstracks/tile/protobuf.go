package tile

import (
	"encoding/binary"
	"math/bits"
)

// Tags of the messages of MVT 2.1: field number and wire type, which is 0 for a
// number and 2 for anything that has a length.
const (
	tagLayer   = 3<<3 | 2
	tagVersion = 15 << 3
	tagName    = 1<<3 | 2
	tagFeature = 2<<3 | 2
	tagKey     = 3<<3 | 2
	tagValue   = 4<<3 | 2
	tagExtent  = 5 << 3

	tagFeatureID = 1 << 3
	tagTags      = 2<<3 | 2
	tagType      = 3 << 3
	tagGeometry  = 4<<3 | 2

	tagString = 1<<3 | 2
	tagUint   = 5 << 3

	point      = 1
	lineString = 2
	moveTo     = 1<<3 | 1 // one point
	lineTo     = 2        // with the number of points above bit 3
)

func appendVarint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

// appendPair appends the parameters of a point, or of the way from one to the next.
func appendPair(b []byte, x, y int32) []byte {
	return appendVarint(appendVarint(b, zigzag(x)), zigzag(y))
}

func varintSize(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// zigzag is the parameter of a geometry command: 32 bits.
func zigzag(v int32) uint64 { return uint64(uint32(v<<1) ^ uint32(v>>31)) }

func unzigzag(v uint64) int32 { return int32(uint32(v)>>1) ^ -int32(v&1) }

// varint reads a number of at most 32 bits at i; at the end of b or in a number
// that is too long it returns an index beyond b.
func varint(b []byte, i int) (uint64, int) {
	var v uint64
	for shift := 0; i < len(b) && shift < 35; shift += 7 {
		c := b[i]
		i++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, i
		}
	}
	return 0, len(b) + 1
}

func appendStringValue(b []byte, s string) []byte {
	inner := 1 + varintSize(uint64(len(s))) + len(s)
	b = appendVarint(append(b, tagValue), uint64(inner))
	b = appendVarint(append(b, tagString), uint64(len(s)))
	return append(b, s...)
}

func appendUintValue(b []byte, v uint64) []byte {
	b = append(b, tagValue, byte(1+varintSize(v)), tagUint)
	return appendVarint(b, v)
}

// uintValue reads a number value at the beginning of b with its tag: where its bytes
// are, and what follows. It is nil if there is none.
func uintValue(b []byte) (number, rest []byte) {
	if len(b) < 4 || b[0] != tagValue || b[2] != tagUint || b[1] < 2 || b[1] > 11 || 2+int(b[1]) > len(b) {
		return nil, nil
	}
	end := 2 + int(b[1])
	return b[3:end], b[end:]
}

// ownNumbers reads the id and the length that values begin with.
func ownNumbers(values []byte) (id, metres uint64, ok bool) {
	first, rest := uintValue(values)
	second, _ := uintValue(rest)
	id, n := binary.Uvarint(first)
	metres, m := binary.Uvarint(second)
	return id, metres, n > 0 && n == len(first) && m > 0 && m == len(second)
}

// valueSize is the length of the value at the beginning of b with its tag, 0 if
// there is none.
func valueSize(b []byte) int {
	if len(b) < 2 || b[0] != tagValue {
		return 0
	}
	n, i := varint(b, 1)
	if i > len(b) || n > uint64(len(b)-i) {
		return 0
	}
	return i + int(n)
}

// valueString is the text of a string value.
func valueString(b []byte) []byte {
	_, i := varint(b, 1)
	if i >= len(b) || b[i] != tagString {
		return nil
	}
	_, i = varint(b, i+1)
	return b[min(i, len(b)):]
}
