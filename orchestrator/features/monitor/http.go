package monitor

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// HTTP is a probe that requests an address: an answer below 400 is good, any
// other answer and a server that does not answer are bad. A name that cannot be
// resolved, a network that cannot be reached and an address that is none say
// nothing of the deployment.
func HTTP(client *http.Client) Probe {
	if client == nil {
		client = &http.Client{Timeout: 10 * time.Second}
	}
	return func(ctx context.Context, address string) (Look, string) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return Unknown, "is no address"
		}
		req.Header.Set("User-Agent", "signalbox monitor")
		resp, err := client.Do(req)
		if err != nil {
			return failure(ctx, err)
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection is used again
		if resp.StatusCode >= http.StatusBadRequest {
			return Bad, resp.Status
		}
		return Good, resp.Status
	}
}

// failure distinguishes a server that is down from a network that is.
func failure(ctx context.Context, err error) (Look, string) {
	var dns *net.DNSError
	var u *url.Error
	text := fault.Words(err.Error())
	if errors.As(err, &u) { // whose address is said already
		text = fault.Words(u.Err.Error())
	}
	switch {
	case ctx.Err() != nil:
		return Unknown, "interrupted"
	case errors.As(err, &dns):
		return Unknown, text
	case unreachable(err):
		return Unknown, text
	default:
		return Bad, text
	}
}
