package restclient

import (
	"encoding/json"
	"time"
)

// Time is a moment in any zone; one that cannot be read is none.
type Time struct{ time.Time }

// UnmarshalJSON is lenient: a missing time must not hide an item.
func (t *Time) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		t.Time = at.UTC()
	}
	return nil
}
