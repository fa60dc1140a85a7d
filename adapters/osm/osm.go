// Package osm reads the trackpoints API of OpenStreetMap: public GPS traces of a
// box, page by page, in GPX. It speaks both forms of the API: pages with numbers,
// and pages that name the next one in a Link header.
//
// A Client is polite: one request at a time, a pause between two, a User-Agent
// that names its operator, no more than three tries, and it waits for as long as the
// server requires.
package osm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// defaultURL is the API of openstreetmap.org.
const defaultURL = "https://api.openstreetmap.org/api/0.6/trackpoints"

// Options of a Client. UserAgent is required.
type Options struct {
	UserAgent string        // program/version, and best a way to reach who runs it
	URL       string        // default DefaultURL
	Pause     time.Duration // from the end of an answer to the next request
	PageSize  int           `envDefault:"5000"` // points of a full page
	Limits    gpx.Limits    // of a page
	HTTP      *http.Client  // nil = one of its own
	Log       *slog.Logger  // nil discards
}

// Client is a collect.Feed. It is safe for concurrent use: requests wait for one
// another.
type Client struct {
	o    Options
	base *url.URL
	http *http.Client

	turn    chan struct{} // its holder may send a request, and use what follows
	notBy   time.Time     // no request before
	cursors bool          // the server names next pages
}

var _ collect.Feed = (*Client)(nil)

// timeout bounds one request, its answer included: the server takes up to five
// minutes for a box.
const timeout = 6 * time.Minute

// New makes a client.
func New(o Options) (*Client, error) {
	o.URL = cmp.Or(o.URL, defaultURL)
	base, err := url.Parse(o.URL)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" || base.RawQuery != "" || base.User != nil:
		return nil, fmt.Errorf("osm: Options.URL is not an address of an API: want one such as %s", defaultURL)
	case strings.TrimSpace(o.UserAgent) == "" || strings.ContainsAny(o.UserAgent, "\r\n"):
		return nil, errors.New("osm: Options.UserAgent is missing: the server wants a contact in each request, such as my-map/1.0 " +
			"(me@example.org)")
	case o.Pause < 0 || o.PageSize < 0:
		return nil, errors.New("osm: Pause and PageSize of Options cannot be negative")
	}
	defaults.Fill(&o)
	defaults.Fill(&o.Limits)
	own := *cmp.Or(o.HTTP, &http.Client{})
	if own.Timeout <= 0 {
		own.Timeout = timeout
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{o: o, base: base, http: &own, turn: make(chan struct{}, 1)}, nil
}

// Page implements collect.Feed. next is the query of a page.
func (c *Client) Page(ctx context.Context, box orb.Bound, next string) (p collect.Page, err error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return p, ctx.Err()
	}
	query := cmp.Or(next, url.Values{"bbox": {bbox(box)}}.Encode())
	for try := 1; ; try++ {
		a, err := c.query(ctx, query)
		p.Requests++
		p.Bytes += int64(len(a.body))
		if err == nil {
			p.Tracks, err = tracks(a.body, c.o.Limits)
		}
		if err == nil {
			p.Next, err = c.next(a, query, p.Tracks)
			return p, err
		}
		wait, again := retryWait(err, try)
		if !again || ctx.Err() != nil {
			return p, errors.Join(ctx.Err(), err)
		}
		c.o.Log.Info("the source is asked again later", "in", wait.String(), "because", err.Error())
		c.notBy = time.Now().Add(wait)
	}
}

// bbox writes a box as the API reads it. It is not larger than the box.
func bbox(b orb.Bound) string {
	number := func(v float64) string { return strconv.FormatFloat(v/1e7, 'f', -1, 64) }
	return strings.Join([]string{
		number(math.Ceil(b.Min[0] * 1e7)), number(math.Ceil(b.Min[1] * 1e7)), number(math.Floor(b.Max[0] * 1e7)),
		number(math.Floor(b.Max[1] * 1e7)),
	}, ",")
}

// answer is an answer with its body, which may be compressed.
type answer struct {
	header http.Header
	body   []byte
}

// query makes one request, when it is time for it.
func (c *Client) query(ctx context.Context, query string) (a answer, err error) {
	if err := run.Sleep(ctx, run.Real{}, time.Until(c.notBy)); err != nil {
		return a, err
	}
	address := *c.base
	address.RawQuery = query
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return a, &Error{what: "the address cannot be asked", cause: err}
	}
	req.Header.Set("User-Agent", c.o.UserAgent)
	req.Header.Set("Accept", "application/gpx+xml")
	req.Header.Set("Accept-Encoding", "gzip") // package gpx decompresses, within its limits
	defer func() { c.notBy = time.Now().Add(c.o.Pause) }()
	resp, err := c.http.Do(req)
	if err != nil {
		return a, &Error{what: "there was no answer: " + bare(err).Error(), cause: bare(err)}
	}
	defer resp.Body.Close()
	a.header = resp.Header
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, c.o.Limits.Bytes+1))
	switch {
	case resp.StatusCode != http.StatusOK:
		return a, failed(resp, a.body)
	case err != nil:
		return a, &Error{what: "the answer broke off", cause: err}
	}
	return a, nil
}

// tracks reads a page whole.
func tracks(body []byte, l gpx.Limits) (out []gpx.Track, err error) {
	for t, err := range gpx.Read(bytes.NewReader(body), l) {
		if err != nil {
			return nil, fmt.Errorf("osm: a page cannot be read: %w", err)
		}
		out = append(out, t)
	}
	return out, nil
}

// next is the query of the next page. The link of a server that names next pages is followed;
// one that never did is requested by number after a full page.
func (c *Client) next(a answer, query string, page []gpx.Track) (string, error) {
	link, err := c.link(a.header)
	if err != nil || link != "" {
		c.cursors = c.cursors || link != ""
		return link, err
	}
	points := 0
	for _, t := range page {
		points += t.BadPoints
		for _, s := range t.Segments {
			points += len(s)
		}
	}
	if c.cursors || points != c.o.PageSize { // pages of more points are of a server that names next pages, and this is the last
		return "", nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", &Error{what: "the query of a page is none", cause: err}
	}
	n, _ := strconv.Atoi(values.Get("page")) // 0 if there is none
	values.Set("page", strconv.Itoa(n+1))
	return values.Encode(), nil
}

// linkMax is the length of a query that a server may hand over, in bytes.
const linkMax = 4096

// link is the query of the Link header's next page. Its place must be the one
// of the request: no server sends this client elsewhere.
func (c *Client) link(header http.Header) (string, error) {
	for _, list := range header.Values("Link") {
		for one := range strings.SplitSeq(list, ", ") {
			address, relation, _ := strings.Cut(one, ";")
			address, isAddress := strings.CutPrefix(strings.TrimSpace(address), "<")
			if !isAddress || !strings.Contains(strings.ReplaceAll(relation, `"`, ""), "rel=next") {
				continue
			}
			u, err := c.base.Parse(strings.TrimSuffix(address, ">"))
			switch {
			case err != nil || len(u.RawQuery) > linkMax || u.RawQuery == "":
				return "", &Error{what: "the next page that the server names is no address"}
			case u.Host != c.base.Host || u.Path != c.base.Path:
				return "", &Error{what: "the server names a next page in another place than " + c.base.Host + c.base.Path +
					": it is not followed"}
			}
			return u.RawQuery, nil
		}
	}
	return "", nil
}
