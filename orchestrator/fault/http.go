package fault

import (
	"strconv"
	"strings"
	"time"
)

// Passes reports whether an HTTP status that is not the expected one may be another
// later: the service is not there (5xx), does not take the call now (408, 425, 429),
// or is somewhere else for the time being (302, 303, 307). A success of the wrong kind
// is a page of something in front of the service. 0 is no answer.
func Passes(status int) bool {
	switch status {
	case 302, 303, 307, 408, 425, 429:
		return true
	default:
		return status < 300 || status >= 500
	}
}

// longest bounds the moment that a service may name; more is no moment.
const longest = 24 * time.Hour

// Moment reads a Retry-After header, which is a number of seconds or a date. ok is
// false when it is neither.
func Moment(header string, now time.Time) (wait time.Duration, ok bool) {
	header = strings.TrimSpace(header)
	if n, err := strconv.ParseInt(header, 10, 64); err == nil {
		return time.Duration(min(n, int64(longest/time.Second))) * time.Second, n >= 0
	}
	at, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", header)
	return min(max(at.Sub(now), 0), longest), err == nil
}
