package trackhttp

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
)

// coding names the compression of a body, as HTTP does.
type coding string

const (
	plain    coding = ""
	gzipped  coding = "gzip"
	brotlied coding = "br"
)

// worthZipping is the size from which compression saves a packet.
const worthZipping = 1024

// codingOf is the coding that a client likes best, brotli of those that it likes equally.
func codingOf(r *http.Request) coding {
	weights := map[coding]float64{}
	others, listed := 0.0, false
	for _, list := range r.Header.Values("Accept-Encoding") {
		for one := range strings.SplitSeq(list, ",") {
			name, weight := preference(one)
			if name == "*" {
				others, listed = weight, true
			} else {
				weights[coding(name)] = weight
			}
		}
	}
	best, most := plain, weights["identity"]
	for _, c := range []coding{brotlied, gzipped} {
		weight, named := weights[c]
		if !named && listed {
			weight = others
		}
		if weight > 0 && (weight > most || best == plain && weight == most) {
			best, most = c, weight
		}
	}
	return best
}

// preference reads an entry of Accept-Encoding; one that cannot be read weighs nothing.
func preference(entry string) (name string, weight float64) {
	name, after, weighed := strings.Cut(entry, ";")
	name = strings.ToLower(strings.TrimSpace(name))
	if !weighed {
		return name, 1
	}
	q, ok := strings.CutPrefix(strings.ReplaceAll(after, " ", ""), "q=")
	weight, err := strconv.ParseFloat(q, 64)
	if !ok || err != nil || !(weight >= 0 && weight <= 1) {
		return name, 0
	}
	return name, weight
}

// compressor writes bodies in a coding. Levels are fast ones: making a tile takes less time than
// compressing it well would.
type compressor interface {
	io.WriteCloser
	Reset(io.Writer)
}

func newCompressor(c coding) compressor {
	if c == brotlied {
		return brotli.NewWriterLevel(nil, 2) // as small as gzip at 6, as fast as gzip at 1
	}
	z, _ := gzip.NewWriterLevel(nil, 2) // the level exists
	return z
}

// squeeze compresses a body that is worth it, and returns what it is then. The result is in out,
// or the body itself.
func squeeze(out *bytes.Buffer, z compressor, c coding, body []byte) ([]byte, coding) {
	if c == plain || len(body) < worthZipping {
		return body, plain
	}
	out.Reset()
	z.Reset(out)
	_, _ = z.Write(body) // a buffer takes everything
	_ = z.Close()
	return out.Bytes(), c
}

func expand(b []byte, c coding) ([]byte, error) {
	if c == brotlied {
		return io.ReadAll(brotli.NewReader(bytes.NewReader(b)))
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// tagged is the tag of a body in a coding: each has one of its own.
func tagged(sum string, c coding) string {
	if c == plain {
		return `"` + sum + `"`
	}
	return `"` + sum + "-" + string(c) + `"`
}

// unchanged sets the headers by which caches keep and compare an answer, and answers 304 to a
// client that has it.
func unchanged(w http.ResponseWriter, r *http.Request, control, tag string) bool {
	header := w.Header()
	header.Set("Cache-Control", control)
	header.Add("Vary", "Accept-Encoding")
	if tag == "" {
		return false
	}
	header.Set("ETag", tag)
	if !matches(r.Header.Values("If-None-Match"), tag) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// matches compares weakly, as RFC 9110 requires for If-None-Match.
func matches(lists []string, etag string) bool {
	for _, list := range lists {
		for one := range strings.SplitSeq(list, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == etag {
				return true
			}
		}
	}
	return false
}
