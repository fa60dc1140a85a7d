package trackhttp

import (
	"encoding/json"
	"strconv"
)

// appendDegrees writes a coordinate given in units of 1e-5 degrees, about a
// metre.
func appendDegrees(b []byte, v int64) []byte {
	if v < 0 {
		b, v = append(b, '-'), -v
	}
	b = strconv.AppendInt(b, v/100_000, 10)
	fraction := v % 100_000
	if fraction == 0 {
		return b
	}
	b = append(b, '.', 0, 0, 0, 0, 0)
	digits := b[len(b)-5:]
	for i := 4; i >= 0; i-- {
		digits[i] = byte('0' + fraction%10)
		fraction /= 10
	}
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

// appendString writes a JSON string in which nothing can be taken for markup.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string always has a JSON form
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
