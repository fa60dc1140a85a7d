package fault_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// typed is an error that hides what it wraps, as an adapter's does.
type typed struct{ cause error }

func (t *typed) Error() string   { return "refused" }
func (t *typed) Retryable() bool { return false }
func (t *typed) Unwrap() error   { return t.cause }

func TestKinds(t *testing.T) {
	t.Parallel()
	final, passing, later := &fault.Error{Text: "f"}, &fault.Error{Text: "p", Again: true}, &fault.Error{Text: "l", Again: true, Wait: time.Minute}
	for name, c := range map[string]struct {
		err   error
		again bool
		after time.Duration
	}{
		"none":                        {nil, false, 0},
		"says nothing":                {errors.New("x"), false, 0},
		"final":                       {final, false, 0},
		"retryable":                   {passing, true, 0},
		"after a moment":              {later, true, time.Minute},
		"a moment of a final error":   {&fault.Error{Wait: time.Minute}, false, 0},
		"a moment that is over":       {&fault.Error{Again: true, Wait: -time.Minute}, true, 0},
		"wrapped":                     {fmt.Errorf("call: %w", later), true, time.Minute},
		"the outermost counts":        {&typed{cause: passing}, false, 0},
		"joined with a final one":     {errors.Join(final, passing), true, 0},
		"joined with other moments":   {errors.Join(passing, &fault.Error{Again: true, Wait: time.Second}, later), true, time.Minute},
		"all that is joined is final": {errors.Join(final, errors.New("x")), false, 0},
		"wrapped with a sentinel":     {fmt.Errorf("%w: %w", errors.New("sentinel"), later), true, time.Minute},
		"the end of a time limit":     {fmt.Errorf("call: %w", context.DeadlineExceeded), true, 0},
		"the end of the program":      {context.Canceled, true, 0},
		"a disk that is full":         {fmt.Errorf("write: %w", syscall.ENOSPC), true, 0},
		"the end of a final call":     {&typed{cause: context.Canceled}, false, 0},
	} {
		require.Equal(t, c.again, fault.Retryable(c.err), name)
		require.Equal(t, c.after, fault.After(c.err), name)
	}
}

// The time limit of an HTTP client is one too, although its error is another.
func TestTimeLimitOfAClient(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer srv.Close()
	defer close(hang)
	_, err := (&http.Client{Timeout: time.Millisecond}).Get(srv.URL)
	require.True(t, fault.Retryable(err))
}

func TestPasses(t *testing.T) {
	t.Parallel()
	for _, status := range []int{0, 200, 204, 302, 303, 307, 408, 425, 429, 500, 501, 502, 503, 504, 509, 599} {
		require.True(t, fault.Passes(status), status)
	}
	for _, status := range []int{300, 301, 308, 400, 401, 403, 404, 405, 409, 410, 413, 418, 422, 423, 451} {
		require.False(t, fault.Passes(status), status)
	}
}

func TestMoment(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 5, 6, 7, 8, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"0": 0, "17": 17 * time.Second, " 17 ": 17 * time.Second, "9223372036854775807": 24 * time.Hour,
		"Tue, 06 May 2031 07:09:00 GMT": time.Minute, "Tue, 06 May 2031 07:00:00 GMT": 0, "Tue, 06 May 2042 07:09:00 GMT": 24 * time.Hour,
	} {
		got, ok := fault.Moment(header, now)
		require.True(t, ok, header)
		require.Equal(t, want, got, header)
	}
	for _, header := range []string{"", "soon", "-1", "1.5", "99999999999999999999"} {
		_, ok := fault.Moment(header, now)
		require.False(t, ok, header)
	}
}

func ExampleRetryable() {
	err := fmt.Errorf("posting a comment: %w", &fault.Error{Text: "429 too many requests", Again: true, Wait: 7 * time.Second})
	fmt.Println(fault.Retryable(err), fault.After(err))
	fmt.Println(fault.Retryable(errors.New("403 forbidden")))
	// Output:
	// true 7s
	// false
}
