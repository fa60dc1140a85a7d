// Package retryhttp is the HTTP client of adapters to REST interfaces: what is safe to
// repeat is tried again at once, within tight bounds, and a redirect is followed only
// where it cannot change what a request means.
package retryhttp

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
)

// New makes a client from another, whose transport and time limit it takes over; nil is
// one with a limit of 30 s for a request.
func New(given *http.Client) *http.Client {
	if given == nil {
		given = &http.Client{Timeout: timeout}
	}
	own := *given
	own.CheckRedirect = followRedirect
	rc := retryablehttp.NewClient()
	rc.HTTPClient, rc.Logger = &own, nil
	rc.RetryMax, rc.RetryWaitMin, rc.RetryWaitMax = retries, waitMin, waitMax
	rc.ErrorHandler = retryablehttp.PassthroughErrorHandler // the caller reads the last answer
	rc.CheckRetry, rc.Backoff = checkRetry, backoff
	out := rc.StandardClient()
	out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return out
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
		return false, nil // the caller has the end of its context, or an answer
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return true, nil // nothing was sent
	}
	if resp != nil && resp.StatusCode == http.StatusTooManyRequests {
		return false, nil
	}
	if resp != nil && resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "" {
		n, bad := strconv.Atoi(resp.Header.Get("Retry-After"))
		return bad == nil && time.Duration(n)*time.Second <= waitMax, nil
	}
	switch methodOf(resp, err) {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete:
		again, _ := retryablehttp.DefaultRetryPolicy(ctx, resp, err)
		return again, nil
	default:
		return false, nil
	}
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
