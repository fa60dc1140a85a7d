// Package secret keeps secrets out of what people and other programs read: String is a
// value that does not print itself, and a Redactor replaces values in what is written.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// mask replaces a secret in print.
const mask = "***"

// String is a secret: fmt, encoding/json, encoding.TextMarshaler and slog show *** in its
// place, and nothing for an empty one. The zero value is empty.
type String struct {
	value *string // fmt prints fields that are not exported itself: it shows an address then
}

// New makes a secret of its value.
func New(value string) String { return String{&value} }

// Reveal gives the value.
func (s String) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsSet reports whether the secret is not empty.
func (s String) IsSet() bool { return s.Reveal() != "" }

// String implements fmt.Stringer.
func (s String) String() string {
	if !s.IsSet() {
		return ""
	}
	return mask
}

// Format implements fmt.Formatter, for every verb.
func (s String) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) } // fmt has no place for an error

// MarshalText implements encoding.TextMarshaler, for JSON too.
func (s String) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes over the text as the value.
func (s *String) UnmarshalText(text []byte) error {
	*s = New(string(text))
	return nil
}

// LogValue implements slog.LogValuer.
func (s String) LogValue() slog.Value { return slog.StringValue(s.String()) }
