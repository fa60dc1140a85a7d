package chathook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/chathook"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/messenger/messengertest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

const key = "the-secret-of-128-bits-or-more"

// program is a chat of another maker: it keeps messages, and posts what people do to the service.
type program struct {
	*testing.T

	mu       sync.Mutex
	messages []chathook.Request
	told     []string
	asked    map[string]string // messages with a choice that a text is wanted for
	origin   map[string]string // where that choice was shown
	broken   map[string]faulttest.Kind
	acts     int
	hooks    string // address of the service
}

func (p *program) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	stamp := r.Header.Get(chathook.StampHeader)
	at, _ := strconv.ParseInt(stamp, 10, 64)
	var in chathook.Request
	signed := r.Header.Get(chathook.SignatureHeader) == chathook.Sign([]byte(key), stamp, body)
	if err != nil || !signed || time.Since(time.Unix(at, 0)).Abs() > time.Minute || json.Unmarshal(body, &in) != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.broken[in.Kind] {
	case faulttest.Final:
		w.WriteHeader(http.StatusForbidden)
		return
	case faulttest.Passing:
		w.WriteHeader(http.StatusBadGateway)
		return
	case faulttest.Later:
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	i := slices.IndexFunc(p.messages, func(m chathook.Request) bool { return m.ID == in.ID })
	switch in.Kind {
	case chathook.KindSend:
		in.ID = p.add(in)
		_ = json.NewEncoder(w).Encode(map[string]string{"id": in.ID})
	case chathook.KindEdit:
		if i < 0 {
			w.WriteHeader(http.StatusGone)
			return
		}
		p.messages[i] = in
	case chathook.KindAnswer:
		p.told = append(p.told, in.Text)
		if in.Ask {
			id := p.add(chathook.Request{Title: in.Text})
			p.origin[id] = in.ID
			p.asked[id] = p.asked["act "+in.Act]
		}
		for j := range p.messages {
			if in.Done && (p.messages[j].ID == in.ID || p.messages[j].ID == p.origin[in.ID]) {
				p.messages[j].Choices = nil
			}
		}
	}
}

func (p *program) add(m chathook.Request) string {
	m.ID = fmt.Sprintf("m%d", len(p.messages)+1)
	p.messages = append(p.messages, m)
	return m.ID
}

// act posts what somebody has done until it is taken.
func (p *program) act(a chathook.Act) {
	p.mu.Lock()
	p.acts++
	a.ID = fmt.Sprintf("a%d", p.acts)
	p.asked["act "+a.ID] = a.Choice
	p.mu.Unlock()
	body, err := json.Marshal(a)
	require.NoError(p, err)
	require.Eventually(p, func() bool { return p.post(body, key, time.Now()) == http.StatusOK }, 10*time.Second, time.Millisecond)
}

func (p *program) post(body []byte, key string, at time.Time) int {
	r, err := http.NewRequest(http.MethodPost, p.hooks, bytes.NewReader(body))
	require.NoError(p, err)
	stamp := strconv.FormatInt(at.Unix(), 10)
	r.Header.Set(chathook.StampHeader, stamp)
	r.Header.Set(chathook.SignatureHeader, chathook.Sign([]byte(key), stamp, body))
	resp, err := http.DefaultClient.Do(r)
	require.NoError(p, err)
	_ = resp.Body.Close()
	return resp.StatusCode
}

func setup(t *testing.T) (*chathook.Chat, *program) {
	t.Helper()
	p := &program{T: t, asked: map[string]string{}, origin: map[string]string{}, broken: map[string]faulttest.Kind{}}
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	c, err := chathook.New(chathook.Options{URL: secret.New(srv.URL + "/hidden"), Secret: secret.New(key)})
	require.NoError(t, err)
	return c, p
}

// receive serves the webhook as package web does.
func receive(c *chathook.Chat, p *program, ready chan<- struct{}) func(context.Context, func(context.Context, messenger.Act) error) {
	return func(ctx context.Context, take func(context.Context, messenger.Act) error) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			check, err := c.Signature(r.Header)
			if err != nil {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			var body bytes.Buffer
			_, _ = io.Copy(io.MultiWriter(&body, check), r.Body)
			if !check.Passed() {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			a, ok, err := c.DecodeAct(body.Bytes())
			if err != nil || ok && take(r.Context(), a) != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		defer srv.Close()
		p.hooks = srv.URL
		close(ready)
		c.Listen(ctx, take)
	}
}

func TestConformance(t *testing.T) {
	messengertest.Run(t, func(t *testing.T) messengertest.Fixture {
		c, p := setup(t)
		ready := make(chan struct{})
		each := func(do func(m chathook.Request)) {
			p.mu.Lock()
			list := slices.Clone(p.messages)
			p.mu.Unlock()
			for _, m := range list {
				do(m)
			}
		}
		by := func(a messenger.Account) (out chathook.Act) {
			<-ready
			out.By.ID, out.By.Name = a.ID, a.Name
			return out
		}
		return messengertest.Fixture{
			Messenger: c, Listen: receive(c, p, ready),
			Shown: func() (out []string) {
				each(func(m chathook.Request) {
					out = append(out, strings.Join(append([]string{m.Title, m.Link}, m.Lines...), "\n"))
				})
				return out
			},
			Delete: func(id string) {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.messages = slices.DeleteFunc(p.messages, func(m chathook.Request) bool { return m.ID == id })
			},
			Labels: func(id string) (out []string) {
				each(func(m chathook.Request) {
					for _, one := range m.Choices {
						if m.ID == id {
							out = append(out, one.Label)
						}
					}
				})
				return out
			},
			Press: func(who messenger.Account, id, label string) {
				each(func(m chathook.Request) {
					for _, one := range m.Choices {
						if m.ID == id && one.Label == label {
							a := by(who)
							a.Message, a.Choice = id, one.ID
							p.act(a)
						}
					}
				})
			},
			Write: func(who messenger.Account, text string) {
				a := by(who)
				each(func(m chathook.Request) { a.Message = m.ID })
				a.Choice, a.Text = p.asked[a.Message], text
				p.act(a)
			},
			Told: func() []string {
				p.mu.Lock()
				defer p.mu.Unlock()
				return slices.Clone(p.told)
			},
			Fail: func(call string, how faulttest.Kind) {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.broken[strings.ToLower(call)] = how
			},
		}
	})
}

// What is not signed, signed with another secret, changed or old is no act.
func TestSignedActs(t *testing.T) {
	c, p := setup(t)
	ready, ctx := make(chan struct{}), t.Context()
	var taken int
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { receive(c, p, ready)(ctx, func(context.Context, messenger.Act) error { taken++; return nil }) })
	<-ready
	body := []byte(`{"id":"1","by":{"id":"U1"},"choice":"stop.1.0"}`)
	require.Equal(t, http.StatusUnauthorized, p.post(body, "another", time.Now()))
	require.Equal(t, http.StatusUnauthorized, p.post(body, key, time.Now().Add(-6*time.Minute)))
	require.Equal(t, http.StatusUnauthorized, p.post(body, "", time.Now()))
	require.Equal(t, http.StatusServiceUnavailable, p.post([]byte(`{"id":"1","choice":"stop.1.0"}`), key, time.Now()), "of nobody")
	require.Zero(t, taken)
	require.Equal(t, http.StatusOK, p.post(body, key, time.Now()))
	require.Equal(t, 1, taken)
	cancel()
	wg.Wait()
}

func TestNoAnswer(t *testing.T) {
	_, err := chathook.New(chathook.Options{URL: secret.New("example.org/?token=hidden"), Secret: secret.New(key)})
	require.ErrorContains(t, err, "Options.URL and Secret")
	require.NotContains(t, err.Error(), "hidden")
	says := func(text string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	for what, at := range map[string]string{
		"refused": "http://127.0.0.1:1/hidden", "no name": "http://nothing.invalid/hidden", "a page": says("<html>"), "no id": says("{}"),
	} {
		c, err := chathook.New(chathook.Options{URL: secret.New(at), Secret: secret.New(key)})
		require.NoError(t, err)
		_, err = c.Send(t.Context(), messenger.Message{Title: "x"})
		require.Error(t, err, what)
		require.True(t, fault.Retryable(err), what)
		require.NotContains(t, err.Error(), "hidden", what)
	}
	c, _ := setup(t)
	said := ""
	report := func(level, what, text string) { said = level + " " + what + ": " + text }
	c.Examine(t.Context(), report)
	require.Equal(t, "ok chat: requests are taken", said)
	require.NoError(t, c.Moved(t.Context()))
}
