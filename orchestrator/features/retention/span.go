package retention

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// LeastDeliveries is the shortest KeepDeliveries: senders repeat webhooks for days.
const LeastDeliveries = Span(7 * day)

const day = 24 * time.Hour

// Span is a duration that may be written in days. 0 means for ever.
type Span time.Duration

// String writes whole days as days.
func (s Span) String() string {
	if d := time.Duration(s); d%day != 0 {
		return d.String()
	}
	return strconv.FormatInt(int64(s)/int64(day), 10) + "d"
}

// UnmarshalText reads 30d, 36h or 0.
func (s *Span) UnmarshalText(text []byte) error {
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
	*s = Span(d)
	return nil
}
