package trackhttp

import (
	"encoding/json"
	"errors"
	"net/http"
)

// problemDocument is an RFC 9457 problem document.
type problemDocument struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func problem(w http.ResponseWriter, status int, kind, detail string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Del("ETag") // of what there would have been
	answer(w, status, "application/problem+json", problemDocument{
		Type: "urn:signalbox:problem:" + kind, Title: http.StatusText(status), Status: status, Detail: detail,
	})
}

func answer(w http.ResponseWriter, status int, contentType string, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"type":"urn:signalbox:problem:encoding","status":500}`)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client that has gone away needs no answer
}

// errBusy means that too many tiles are being waited for.
var errBusy = errors.New("too many tiles are waiting to be made")

// failed answers what could not be served, unless nobody waits for it any more.
func (h *Handler) failed(w http.ResponseWriter, r *http.Request, what string, err error) {
	if r.Context().Err() != nil {
		return
	}
	w.Header().Set("Retry-After", "1")
	if errors.Is(err, errBusy) {
		problem(w, http.StatusServiceUnavailable, "busy", "Too many tiles are being made. Ask again in a second.")
		return
	}
	h.o.Log.Error("gps tracks: an answer failed", "what", what, "err", err)
	problem(w, http.StatusServiceUnavailable, "store", "The tracks cannot be read at the moment.")
}
