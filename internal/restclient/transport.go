package restclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// Bounds of what is tried again within one call. A longer wait is for the
// caller's queue.
const (
	retries = 2
	waitMin = 100 * time.Millisecond
	waitMax = time.Second
	hopsMax = 3
	timeout = 30 * time.Second
	readMax = 64 << 20 // of an answer, unpacked, in bytes: adapters' libraries read to its end
)

// Retry is when a request may be made again at once.
type Retry int

// Values of Retry. By default what is safe by its method is tried again after any failure.
const (
	ByMethod Retry = iota
	Never
	Answered // after a failure that the server has reported
	Always
)

// retryKey marks requests with their Retry.
type retryKey struct{}

// Transport makes an HTTP client from another, whose transport and time limit it takes over; nil is one
// with a limit of 30 s for a request. It keeps answers with an ETag, and gives one again when the server
// says that it holds. A redirect is followed only where it cannot change what the
// request means.
func Transport(given *http.Client) *http.Client { return transport(given, followRedirect) }

// Straight is Transport that follows no redirect.
func Straight(given *http.Client) *http.Client { return transport(given, stay) }

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func transport(given *http.Client, redirect func(*http.Request, []*http.Request) error) *http.Client {
	own := http.Client{}
	if given != nil {
		own = *given
	}
	if given == nil || own.Timeout <= 0 {
		own.Timeout = timeout
	}
	own.CheckRedirect = redirect
	rc := retryablehttp.NewClient()
	rc.HTTPClient, rc.Logger = &own, nil
	rc.RetryMax, rc.RetryWaitMin, rc.RetryWaitMax = retries, waitMin, waitMax
	rc.ErrorHandler = giveUp
	rc.CheckRetry, rc.Backoff = checkRetry, backoff
	out := rc.StandardClient()
	out.CheckRedirect, out.Transport = stay, newConditional(bounded{out.Transport})
	return out
}

// bounded is a transport whose answers have an end.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, readMax)
	}
	return resp, err
}

// giveUp returns what came last. An answer beside an error, which the end of the context is, is
// nobody's to read.
func giveUp(resp *http.Response, err error, _ int) (*http.Response, error) {
	if err != nil && resp != nil {
		_ = resp.Body.Close()
		resp = nil
	}
	return resp, err
}

// followRedirect goes only where the same host leads, with the same method: a redirected
// POST could become a GET, and the token is nobody else's business.
func followRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if req.Method != first.Method || req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme || len(via) > hopsMax {
		return http.ErrUseLastResponse
	}
	return nil
}

// checkRetry tries again at once only what is safe to repeat and may pass
// quickly. A limit is never slept out here.
func checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return true, nil // nothing was sent
	}
	may, _ := ctx.Value(retryKey{}).(Retry)
	later := resp != nil && resp.Header.Get("Retry-After") != ""
	if may == ByMethod {
		if later && resp.StatusCode == http.StatusServiceUnavailable { // it has not taken the call
			n, bad := strconv.Atoi(resp.Header.Get("Retry-After"))
			return bad == nil && time.Duration(n)*time.Second <= waitMax, nil
		}
		switch methodOf(resp, err) {
		case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete:
			may = Always
		}
	}
	if later || may != Always && (may != Answered || err != nil) || resp != nil && resp.StatusCode == http.StatusTooManyRequests {
		return false, nil
	}
	again, _ := retryablehttp.DefaultRetryPolicy(ctx, resp, err)
	return again, nil
}

func methodOf(resp *http.Response, err error) string {
	if resp != nil && resp.Request != nil {
		return resp.Request.Method
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		return strings.ToUpper(failed.Op)
	}
	return ""
}

// backoff doubles from the minimum, takes a random half of it, and does not
// sleep as long as an answer requires: checkRetry has judged that.
func backoff(lo, hi time.Duration, attempt int, _ *http.Response) time.Duration {
	wait := min(lo<<attempt, hi)
	return wait/2 + rand.N(wait/2+1)
}
