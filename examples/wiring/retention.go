package wiring

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// leastDeliveries is how long deliveries are known at least: senders repeat them for days.
const leastDeliveries = span(7 * day)

const day = 24 * time.Hour

// span is a duration that may be written in days. 0 means for ever.
type span time.Duration

// String writes whole days as days.
func (s span) String() string {
	if d := time.Duration(s); d%day != 0 {
		return d.String()
	}
	return strconv.FormatInt(int64(s)/int64(day), 10) + "d"
}

// UnmarshalText reads 30d, 36h or 0.
func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if days, is := strings.CutSuffix(string(text), "d"); is {
		n, wrong := strconv.ParseInt(days, 10, 64)
		d, err = time.Duration(n)*day, wrong
		if n > math.MaxInt64/int64(day) {
			err = strconv.ErrRange
		}
	}
	if err != nil || d < 0 || d > 0 && d < time.Hour {
		return fmt.Errorf("%q, want days or hours such as 30d or 36h, or 0 for ever", text)
	}
	*s = span(d)
	return nil
}
