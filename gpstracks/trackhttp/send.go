package trackhttp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
)

// sumOf is the part of a tag that is the body's, however it is compressed.
func sumOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:12])
}

// scope says who may keep an answer.
func (h *Handler) scope() string {
	if h.o.Private {
		return "private"
	}
	return "public"
}

// maxAge is the Cache-Control of answers that a client may keep for a while.
func (h *Handler) maxAge() string {
	return h.scope() + ", max-age=" + strconv.Itoa(int(h.o.TileMaxAge.Seconds()))
}

// send answers a body that a client may keep, and revalidates by its tag.
func (h *Handler) send(w http.ResponseWriter, r *http.Request, kind string, body []byte) {
	c, sum := codingOf(r), sumOf(body)
	if len(body) < worthZipping {
		c = plain
	}
	if unchanged(w, r, h.maxAge(), tagged(sum, c)) {
		return
	}
	var out bytes.Buffer
	squeezed, c := squeeze(&out, newCompressor(c), c, body)
	header := w.Header()
	header.Set("Content-Type", kind)
	if c != plain {
		header.Set("Content-Encoding", string(c))
	}
	header.Set("Content-Length", strconv.Itoa(len(squeezed)))
	_, _ = w.Write(squeezed) // a client that has gone away needs no answer
}

// sendJSON is send of a document.
func (h *Handler) sendJSON(w http.ResponseWriter, r *http.Request, kind string, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		h.failed(w, r, "a document", err)
		return
	}
	h.send(w, r, kind, append(body, '\n'))
}
