package main

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// balancer sends a request to the replicas in turn until one answers, as the
// balancer in front of a real deployment does. One that was paused may take the
// request later all the same: then it was delivered twice.
type balancer struct {
	http.Transport
	w *world
}

func (w *world) balance() http.Handler {
	return &httputil.ReverseProxy{
		FlushInterval: -1, Transport: &balancer{http.Transport{ResponseHeaderTimeout: 2 * time.Second}, w},
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(&url.URL{Scheme: "http"}) },
	}
}

// RoundTrip implements http.RoundTripper.
func (b *balancer) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	body, err := io.ReadAll(cmp.Or[io.Reader](r.Body, http.NoBody))
	if err != nil {
		return nil, err
	}
	first := int(b.w.turn.Add(1))
	for n := range b.w.replicas {
		r.URL.Host = b.w.replicas[(first+n)%len(b.w.replicas)].address
		r.Body = io.NopCloser(bytes.NewReader(body))
		if resp, err = b.Transport.RoundTrip(r); err == nil {
			break
		}
	}
	return resp, err
}
