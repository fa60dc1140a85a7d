package web

import (
	_ "embed" // openapi.json
	"net/http"
)

// description is the API by OpenAPI 3.1. A test holds it against the routes and their answers.
//
//go:embed openapi.json
var description []byte

func describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(description) // as write
}
