package modelgateway

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Bounds of a request, in bytes: of its body, as much as the vendors take, and of its model's name, which is kept.
const (
	bodyMax = 32 << 20
	nameMax = 200
)

// exchange is a request and its answer.
type exchange struct {
	*execution
	vendor *vendor
	path   string // at the vendor
	call   bool   // of a model: it costs
	model  string // as the request says
	body   []byte
}

// ServeHTTP forwards a request of an execution.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	prefix, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	v := g.vendors[prefix]
	if v == nil {
		served := g.URL() + "/anthropic, /openai/v1 and /gemini, as far as they are served"
		http.Error(w, "this is the gateway of models: "+served, http.StatusNotFound)
		return
	}
	e := g.find(token(r))
	if e == nil {
		v.refuse(w, http.StatusUnauthorized, "signalbox: this is no token of a run that is under way")
		return
	}
	x := &exchange{execution: e, vendor: v, path: "/" + path}
	status, why := statusBusy, fmt.Sprintf("signalbox: this run has %d requests under way", requestsMax)
	select {
	case e.busy <- struct{}{}:
		defer func() { <-e.busy }()
		status, why = x.read(w, r)
	default:
	}
	if c, closed := g.shut(x); status == 0 && closed {
		status, why = c.status, c.said
		x.answered(c.trouble, c.said)
	}
	if status == 0 {
		status, why = e.begin(x)
	}
	if status != 0 {
		g.opt.Log.Debug("a request of an agent is refused", "method", r.Method, "path", r.URL.Path, "status", status, "why", why)
		v.refuse(w, status, why)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	x.forward(w, r.WithContext(ctx))
}

// read judges a request and reads its body; else it returns the status and words of a refusal.
func (x *exchange) read(w http.ResponseWriter, r *http.Request) (status int, why string) {
	route := r.Method + " " + x.path
	named := x.vendor.calls.FindStringSubmatch(route)
	x.call = named != nil
	switch {
	case r.Header.Get("Upgrade") != "":
		return http.StatusUpgradeRequired, "signalbox: the gateway has no WebSockets"
	case !x.call && !x.vendor.asides.MatchString(route):
		return http.StatusNotFound, "signalbox: the gateway forwards calls of models, and lists of them, not " + route
	case r.Header.Get("Content-Encoding") != "":
		return http.StatusUnsupportedMediaType, "signalbox: the gateway takes no body that is compressed"
	}
	deadline := http.NewResponseController(w)
	_ = deadline.SetReadDeadline(time.Now().Add(time.Minute)) // of all servers but those of tests
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
	_ = deadline.SetReadDeadline(time.Time{})
	if long := new(http.MaxBytesError); errors.As(err, &long) {
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("signalbox: a request has at most %d bytes", bodyMax)
	}
	if err != nil {
		return http.StatusBadRequest, "signalbox: the request breaks off"
	}
	if x.body = body; !x.call {
		return 0, ""
	}
	fields := map[string]json.RawMessage{} // in their own spelling: vendors read no other
	if err := json.Unmarshal(body, &fields); err != nil {
		return http.StatusBadRequest, "signalbox: the body is no call of a model: " + err.Error()
	}
	_ = json.Unmarshal(fields["model"], &x.model) // none is the vendor's to refuse
	if x.vendor.name == Google {
		x.model = named[1]
	}
	if len(x.model) > nameMax {
		return http.StatusBadRequest, fmt.Sprintf("signalbox: the name of a model has at most %d bytes", nameMax)
	}
	if b := string(fields["background"]); b != "" && b != "false" && b != "null" {
		return http.StatusBadRequest, "signalbox: background is not possible: its usage would not be seen"
	}
	if string(fields["stream"]) == "true" && strings.HasSuffix(x.path, "/chat/completions") { // else it says nothing of its usage
		var options map[string]any
		if _ = json.Unmarshal(fields["stream_options"], &options); options == nil { // none is the usual case
			options = map[string]any{}
		}
		options["include_usage"] = true
		fields["stream_options"], _ = json.Marshal(options) // as it was read
		x.body, _ = json.Marshal(fields)
	}
	return 0, ""
}

// forward sends the request under the vendor's key, and its answer back as it comes.
func (x *exchange) forward(w http.ResponseWriter, r *http.Request) {
	unanswered := &meter{finished: true, reported: true} // it costs nothing
	defer func() {
		if unanswered != nil {
			x.settle(x, unanswered)
		}
	}()
	p := httputil.ReverseProxy{
		Transport: x.g.opt.Client, FlushInterval: -1, ErrorLog: slog.NewLogLogger(x.g.opt.Log.Handler(), slog.LevelDebug),
		Rewrite: func(p *httputil.ProxyRequest) {
			query := url.Values{}
			for _, name := range []string{"alt", "beta", "pageSize", "pageToken", "limit", "after_id"} {
				if value := p.In.URL.Query().Get(name); value != "" {
					query.Set(name, value)
				}
			}
			p.Out.URL = x.vendor.base.JoinPath(x.path)
			p.Out.URL.RawQuery, p.Out.Host = query.Encode(), ""
			p.Out.Header = passed(p.In.Header)
			p.Out.Header.Set(x.vendor.header, x.vendor.begin+x.vendor.key.Reveal())
			p.Out.Body, p.Out.ContentLength = http.NoBody, int64(len(x.body))
			if len(x.body) > 0 {
				p.Out.Body = io.NopCloser(bytes.NewReader(x.body))
			}
		},
		ModifyResponse: func(a *http.Response) error {
			err := x.answer(a)
			if _, is := a.Body.(*metered); is {
				unanswered = nil
			}
			return err
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if x.call && errors.Is(err, context.Canceled) { // the vendor may be at work
				unanswered = newMeter("", x.model, len(x.body))
			}
			x.g.opt.Log.Info("a vendor of models does not answer", "vendor", x.vendor.name, "err", err)
			x.vendor.refuse(w, http.StatusBadGateway, "signalbox: "+x.vendor.base.Host+" does not answer")
		},
	}
	p.ServeHTTP(w, r)
}

// answer judges an answer, and has it metered while it passes.
func (x *exchange) answer(a *http.Response) error {
	encoding := a.Header.Get("Content-Encoding")
	if a.Header = returned(a.Header); a.StatusCode >= 300 && a.StatusCode < 400 {
		return errors.New("the answer leads elsewhere")
	}
	if encoding != "" && encoding != "identity" {
		plain, err := gzip.NewReader(a.Body)
		if err != nil || encoding != "gzip" {
			return fmt.Errorf("the answer is compressed as %q, which was not wanted", encoding)
		}
		a.Header.Del("Content-Length")
		a.Body, a.ContentLength = unpacked{plain, a.Body}, -1
	}
	switch {
	case a.StatusCode >= http.StatusBadRequest:
		return x.refused(a)
	case x.call && a.StatusCode == http.StatusOK: // it ends for the agent when it is counted, not at a length
		a.Header.Del("Content-Length")
		a.ContentLength = -1
		a.Body = &metered{ReadCloser: a.Body, x: x, meter: newMeter(a.Header.Get("Content-Type"), x.model, len(x.body))}
	}
	if x.call {
		x.answered(work.Trouble{}, "")
		x.g.open(x)
	}
	return nil
}

// refused reads what is wrong of an error.
func (x *exchange) refused(a *http.Response) error {
	const head = 64 << 10
	body, err := io.ReadAll(io.LimitReader(a.Body, head))
	if err != nil {
		return err
	}
	a.Body = unpacked{io.MultiReader(bytes.NewReader(body), a.Body), a.Body}
	if t, said := troubleOf(a.StatusCode, a.Header, body, x.g.opt.Now()); x.call && t.Kind != "" {
		x.g.opt.Log.Info("a vendor of models refuses", "vendor", x.vendor.name, "status", a.StatusCode, "trouble", t.Kind, "until", t.Until)
		x.answered(t, cmp.Or(said, a.Status))
		x.g.close(x, a.StatusCode, t, cmp.Or(said, a.Status))
	}
	return nil
}

// unpacked reads what the closed body has been made into.
type unpacked struct {
	io.Reader
	io.Closer
}

// piece is how much of an answer is passed on at a time: by so much at most it passes the limit.
const piece = 4 << 10

// metered is an answer on its way: it ends at the limit of its execution.
type metered struct {
	io.ReadCloser
	x     *exchange
	meter *meter
	cut   bool
	left  []byte // of the last words of an answer that was cut
}

func (b *metered) Read(p []byte) (n int, err error) {
	if !b.cut {
		n, err = b.ReadCloser.Read(p[:min(len(p), piece)])
		_, _ = b.meter.Write(p[:n]) // it never fails
		why := b.x.goesOn(b.x, b.meter.soFar(), b.meter.goesOn())
		if why == "" {
			return n, err
		}
		b.cut, b.left = true, b.x.vendor.lastWords(why)
	}
	if n = copy(p, b.left); n == 0 {
		return 0, io.EOF
	}
	b.left = b.left[n:]
	return n, nil
}

// Close implements io.Closer. The vendor says no more.
func (b *metered) Close() error {
	err := b.ReadCloser.Close()
	b.x.settle(b.x, b.meter)
	return err
}
