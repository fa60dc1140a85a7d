package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// patience is how long the balancer waits for a replica's answer.
const patience = 2 * time.Second

// balance sends a request to the replicas in turn until one answers, as the
// balancer in front of a real deployment does. One that was paused may take the
// request later all the same: then it was delivered twice.
func (w *world) balance(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, 1<<20))
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	first := int(w.turn.Add(1))
	if r.Header.Get("Accept") == "text/event-stream" { // it has no end; the client comes again when it breaks
		to := &url.URL{Scheme: "http", Host: w.replicas[first%len(w.replicas)].address}
		(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }}).ServeHTTP(rw, r)
		return
	}
	for n := range w.replicas {
		if w.forward(rw, r, w.replicas[(first+n)%len(w.replicas)], body) == nil {
			return
		}
	}
	http.Error(rw, "no replica answers", http.StatusBadGateway)
}

// forward sends a request to one replica. An error means that nothing was written.
func (w *world) forward(rw http.ResponseWriter, r *http.Request, to *replica, body []byte) error {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Method, "http://"+to.address+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = r.Header.Clone()
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	for name, values := range resp.Header {
		rw.Header()[name] = values
	}
	rw.WriteHeader(resp.StatusCode)
	_, _ = rw.Write(answer) // the client has gone, if it fails
	return nil
}
