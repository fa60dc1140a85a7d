package osm

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// Error is an answer that is not a page, or the lack of one.
type Error struct {
	Status  int // HTTP status; 0 when there was no answer
	what    string
	after   time.Duration
	tooMuch bool
	cause   error
}

// Error returns what the server answered.
func (e *Error) Error() string { return "osm: " + e.what }

// Unwrap gives the transport's error.
func (e *Error) Unwrap() error { return e.cause }

// TooMuch reports that the box was too large for the server.
func (e *Error) TooMuch() bool { return e.tooMuch }

// Retryable reports whether a later try may succeed.
func (e *Error) Retryable() bool {
	return e.Status == 0 && e.cause != nil || e.throttled() || e.Status >= 500
}

// RetryAfter is the wait that the server requires; 0 when it names none.
func (e *Error) RetryAfter() time.Duration { return e.after }

// bandwidth is the status of the server's own limiter. It is in no standard.
const bandwidth = 509

func (e *Error) throttled() bool {
	return e.Status == http.StatusTooManyRequests || e.Status == bandwidth
}

// tooLarge begins what the server says of a box that is too large.
const tooLarge = "The maximum bbox size is"

// textMax bounds what an error quotes of an answer, in bytes.
const textMax = 200

// failed makes the error of an answer.
func failed(resp *http.Response, body []byte) error {
	text := strings.TrimSpace(string(body[:min(len(body), textMax)]))
	if said := resp.Header.Get("Error"); said != "" {
		text = said[:min(len(said), textMax)]
	}
	e := &Error{Status: resp.StatusCode, what: "the server answered " + resp.Status,
		after: requiredWait(resp.Header.Get("Retry-After"), text, time.Now())}
	e.tooMuch = resp.StatusCode == http.StatusBadRequest && strings.HasPrefix(text, tooLarge)
	if text != "" && !strings.HasPrefix(text, "<") {
		e.what += ": " + strings.Map(printable, strings.ToValidUTF8(text, ""))
	}
	if resp.StatusCode/100 == 3 {
		e.what += " to " + strconv.Quote(resp.Header.Get("Location")) + ": Options.URL must be the address that answers itself"
	}
	return e
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}

// inSeconds matches the wait in the limiter's text.
var inSeconds = regexp.MustCompile(`try again in ([0-9]{1,6}) seconds`)

// requiredWait returns how long an answer requires to wait: in a header, as seconds or as a date,
// or in its text; 0 when it does not say.
func requiredWait(header, text string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if n, err := strconv.Atoi(header); err == nil && n >= 0 && n < 1e6 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0)
	}
	if m := inSeconds.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // up to six digits
		return time.Duration(n) * time.Second
	}
	return 0
}

const (
	tries       = 3
	longestWait = 15 * time.Minute // a server that requires more is left alone
)

// retryWait returns whether and when to try another time after a try that failed.
func retryWait(err error, try int) (wait time.Duration, again bool) {
	if try >= tries {
		return 0, false
	}
	var unreadable *gpx.Error
	if errors.As(err, &unreadable) {
		return 5 * time.Second, true
	}
	var e *Error
	switch {
	case !errors.As(err, &e) || !e.Retryable() || e.after > longestWait:
		return 0, false
	case e.after > 0:
		return e.after, true
	case e.throttled():
		return time.Duration(try) * time.Minute, true
	}
	return time.Duration(try*try) * 5 * time.Second, true
}

// bare is a transport's error without the address.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
