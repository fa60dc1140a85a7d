package restclient

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Bounds of the answers that a client keeps.
const (
	keptMax   = 1000
	keptBytes = 16 << 20 // of bodies
	oneMax    = 1 << 20  // of one of them
	pageMin   = 30       // rows of the shortest page that may have another behind it
)

// question is the hash of a request with all its headers: what one credential has read is no other's, and
// no secret is kept.
type question [sha256.Size]byte

// answer is a success that its server has given a tag.
type answer struct {
	tag    string
	header http.Header
	body   []byte
}

// conditional is a transport that sends the tag of an answer when its question is put again. Each request goes to
// the server, whatever an answer says of its age: only "not modified" makes a kept one be given again.
type conditional struct {
	next http.RoundTripper

	mu    sync.Mutex
	kept  *simplelru.LRU[question, answer]
	bytes int
}

func newConditional(next http.RoundTripper) *conditional {
	c := &conditional{next: next}
	c.kept, _ = simplelru.NewLRU(keptMax, func(_ question, a answer) { c.bytes -= len(a.body) }) // no error: keptMax > 0
	return c
}

func (c *conditional) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet || r.Header.Get("If-None-Match") != "" || r.Header.Get("Range") != "" {
		return c.next.RoundTrip(r)
	}
	to, sent := hash(r), r
	known, ok := c.get(to)
	if ok {
		sent = r.Clone(r.Context())
		sent.Header.Set("If-None-Match", known.tag)
	}
	resp, err := c.next.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	resp.Request = r
	if ok && resp.StatusCode == http.StatusNotModified {
		restore(resp, known)
		return resp, nil
	}
	fresh := read(resp)
	c.put(to, fresh)
	return resp, nil
}

func hash(r *http.Request) (out question) {
	sum := sha256.New()
	_, _ = io.WriteString(sum, r.URL.String()+"\n"+r.Host+"\n") // a hash takes all
	_ = r.Header.Write(sum)                                     // in the order of their names
	return question(sum.Sum(nil))
}

// restore makes an answer of "not modified". What that says of itself, such as of a limit, is newer.
func restore(resp *http.Response, a answer) {
	_ = resp.Body.Close() // it has no body
	header := a.header.Clone()
	maps.DeleteFunc(resp.Header, func(name string, _ []string) bool { return strings.HasPrefix(name, "Content-") })
	maps.Copy(header, resp.Header)
	resp.Status, resp.StatusCode, resp.Header = "200 OK", http.StatusOK, header
	resp.Body, resp.ContentLength, resp.TransferEncoding = io.NopCloser(bytes.NewReader(a.body)), int64(len(a.body)), nil
}

// read takes a copy of an answer that may be kept; the zero answer when it may not. A list whose page is full is
// not: a tag is of the body, and what came behind the page shows in the link to the next alone.
func read(resp *http.Response) answer {
	a := answer{tag: resp.Header.Get("ETag"), header: resp.Header.Clone()}
	if resp.StatusCode != http.StatusOK || a.tag == "" || resp.ContentLength > oneMax ||
		strings.Contains(resp.Header.Get("Cache-Control"), "no-store") || resp.Header.Get("Vary") == "*" {
		return answer{}
	}
	rest := resp.Body
	body, err := io.ReadAll(io.LimitReader(rest, oneMax+1))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), rest} // an error comes again, behind what was read
	var rows []json.RawMessage
	if err != nil || len(body) > oneMax || json.Unmarshal(body, &rows) == nil && len(rows) >= pageMin {
		return answer{}
	}
	a.body = body
	return a
}

func (c *conditional) get(to question) (answer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.Get(to)
}

// put keeps an answer in the place of the one before; the zero answer only forgets that.
func (c *conditional) put(to question, a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Remove(to)
	if a.tag == "" {
		return
	}
	c.kept.Add(to, a)
	for c.bytes += len(a.body); c.bytes > keptBytes; {
		c.kept.RemoveOldest()
	}
}
