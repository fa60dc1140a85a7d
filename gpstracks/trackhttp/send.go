package trackhttp

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
)

// etagOf is a tag of a body, however it is compressed.
func etagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `W/"` + hex.EncodeToString(sum[:12]) + `"`
}

// send answers a body that a client may keep, and revalidates by its tag.
func (h *Handler) send(w http.ResponseWriter, r *http.Request, kind string, body []byte) {
	header, tag := w.Header(), etagOf(body)
	header.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(h.o.TileMaxAge.Seconds())))
	header.Add("Vary", "Accept-Encoding")
	header.Set("ETag", tag)
	if matches(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Type", kind)
	if len(body) >= worthZipping && zips(r) {
		var zipped bytes.Buffer
		z := gzip.NewWriter(&zipped)
		if _, err := z.Write(body); err == nil && z.Close() == nil { // a buffer takes everything
			header.Set("Content-Encoding", "gzip")
			body = zipped.Bytes()
		}
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that has gone away needs no answer
}
