package web

import (
	"encoding/json"
	"net/http"
)

// Problem is an RFC 9457 problem document.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// problem answers with a problem document. detail never repeats what the
// sender sent.
func problem(w http.ResponseWriter, status int, kind, detail string) {
	write(w, status, "application/problem+json", Problem{
		Type: "urn:signalbox:problem:" + kind, Title: http.StatusText(status), Status: status, Detail: detail,
	})
}

func answer(w http.ResponseWriter, status int, v any) { write(w, status, "application/json", v) }

func write(w http.ResponseWriter, status int, contentType string, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"type":"urn:signalbox:problem:encoding","status":500}`)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client that has gone away needs no answer
}
