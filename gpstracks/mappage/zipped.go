package mappage

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"time"
)

// serveBuiltIn serves a file that is built in as it is kept, or unpacked to a client that takes no
// gzip.
func serveBuiltIn(w http.ResponseWriter, r *http.Request, name string) {
	head(w, name)
	body, err := builtIn.ReadFile(name + ".gz")
	zipped := err == nil
	if !zipped {
		if body, err = builtIn.ReadFile(name); err != nil {
			http.NotFound(w, r)
			return
		}
	}
	sum := sha256.Sum256(body)
	w.Header().Set("ETag", `W/"`+hex.EncodeToString(sum[:12])+`"`)
	if zipped {
		w.Header().Add("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
		} else if body, err = unzip(body); err != nil {
			http.Error(w, "The file is damaged.", http.StatusInternalServerError)
			return
		}
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
}

func unzip(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
