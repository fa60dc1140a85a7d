package slack_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slack-go/slack/slacktest"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/slack"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/messenger/messengertest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

const (
	token    = "xoxb-token-of-the-bot"
	appToken = "xapp-token-of-the-app"
)

func connect(t *testing.T, at string, log *slog.Logger) *slack.Chat {
	t.Helper()
	c, err := slack.New(slack.Options{Token: secret.New(token), AppToken: secret.New(appToken), Channel: "C1", BaseURL: at, Log: log})
	require.NoError(t, err)
	return c
}

// opened is a workspace, and a chat in it.
func opened(t *testing.T) (*workspace, *slack.Chat) {
	t.Helper()
	w := open(t)
	return w, connect(t, w.GetAPIURL(), nil)
}

// hearing has a chat listen until the test ends.
func hearing(t *testing.T, c *slack.Chat, take func(messenger.Act) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { c.Listen(ctx, func(_ context.Context, a messenger.Act) error { return take(a) }) })
	t.Cleanup(func() { cancel(); wg.Wait() })
}

var (
	kim      = messenger.Account{ID: "U7", Name: "kim"}
	decision = messenger.Message{Title: "APP-1 <", Choices: []messenger.Choice{{ID: "approve.1.a", Label: "Approve"}, {ID: "reject.1.a", Label: "Reject"}}}
)

func TestConformance(t *testing.T) {
	t.Parallel()
	messengertest.Run(t, func(t *testing.T) messengertest.Fixture {
		w := open(t)
		locked := func(do func()) {
			w.mu.Lock()
			defer w.mu.Unlock()
			do()
		}
		return messengertest.Fixture{
			Messenger: connect(t, w.GetAPIURL(), nil),
			Shown: func() (out []string) {
				for _, m := range w.all() {
					out = append(out, shown(m))
				}
				locked(func() {
					for _, v := range w.views {
						out = append(out, question(v))
					}
				})
				return out
			},
			Delete: func(id string) {
				locked(func() { w.messages = slices.DeleteFunc(w.messages, func(m message) bool { return m.id == id }) })
			},
			Labels: func(id string) (out []string) {
				for _, m := range w.all() {
					for _, b := range buttons(m) {
						if m.id == id {
							out = append(out, b.Text.Text)
						}
					}
				}
				return out
			},
			Press: w.press, Write: w.write,
			Told: func() (out []string) {
				locked(func() { out = slices.Clone(w.told) })
				return out
			},
			Fail: func(call string, how faulttest.Kind) {
				locked(func() { w.broken[map[string]string{"Send": "/chat.postMessage", "Edit": "/chat.update"}[call]] = how })
			},
		}
	})
}

// What the library's server has of its own takes messages, and sees each act acknowledged once it was taken, not before.
func TestServerOfTheLibrary(t *testing.T) {
	t.Parallel()
	start := func() *workspace {
		w := &workspace{Server: slacktest.NewTestServer()}
		w.Start()
		t.Cleanup(w.Stop)
		return w
	}
	id, err := connect(t, start().GetAPIURL(), nil).Send(t.Context(), messenger.Message{To: "C2", Title: "x"})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(id, "C2/"), id)
	w := start() // another, for that one puts what is sent on the socket, too
	var wg sync.WaitGroup
	wg.Go(func() { <-w.SeenFeed })
	c := connect(t, w.GetAPIURL(), nil)
	said := ""
	c.Examine(t.Context(), func(level, what, text string) { said = level + " " + what + ": " + text })
	require.Equal(t, "ok slack: the tokens are accepted; the bot must be a member of C1", said)
	acts, may := make(chan messenger.Act, 9), make(chan bool)
	hearing(t, c, func(a messenger.Act) error {
		acts <- a
		if !<-may {
			return errors.New("the store is down")
		}
		return nil
	})
	w.envelope(map[string]any{"type": "message_action", "user": map[string]any{"id": "U7"}}) // it is no act
	wg.Wait()
	w.envelope(map[string]any{
		"type": "block_actions", "trigger_id": "T1", "user": map[string]any{"id": "U7"}, "channel": map[string]any{"id": "C1"},
		"container": map[string]any{"message_ts": "7"}, "actions": []any{map[string]any{"type": "button", "block_id": "b", "value": "stop.1.a"}},
	})
	a := <-acts
	require.Equal(t, messenger.Act{ID: "T1", Handle: "T1", By: messenger.Account{ID: "U7"}, Message: "C1/7", Choice: "stop.1.a"}, a)
	may <- false
	require.Equal(t, a, <-acts)
	require.Len(t, w.GetSeenInboundMessages(), 1)
	may <- true
	<-w.SeenFeed
	w.acknowledged(t, 2)
}

// Nothing that a title or a text says becomes markup, a mention or a label of a link; addresses lead where they say.
func TestUntrustedText(t *testing.T) {
	t.Parallel()
	w, c := opened(t)
	const text = "<!channel> *b* <https://evil.example|trust me> see https://example.org/a?b=1&c=2, (http://example.org/x)."
	_, err := c.Send(t.Context(), messenger.Message{Title: "<!here> " + text, Lines: []string{text}})
	require.NoError(t, err)
	m := w.all()[0]
	require.Equal(t, "<!here> "+text+"\n"+text, shown(m))
	require.Contains(t, m.text, "&lt;!channel&gt; *b* &lt;https")
	require.NotContains(t, m.text, "<")
	require.Equal(t, []string{"https://evil.example|trust", "https://example.org/a?b=1&c=2", "http://example.org/x"}, links(m))
	require.NotContains(t, w.auth[0], appToken)
}

// The buttons that a person has pressed go, and what the message says meanwhile stays.
func TestEditBesideAnAnswer(t *testing.T) {
	t.Parallel()
	w, c := opened(t)
	id, err := c.Send(t.Context(), decision)
	require.NoError(t, err)
	acts := make(chan messenger.Act, 9)
	again := connect(t, w.GetAPIURL(), nil) // which has not sent the message
	hearing(t, again, func(a messenger.Act) error { acts <- a; return nil })
	w.press(kim, id, "Approve")
	a := <-acts
	require.NoError(t, again.Answer(t.Context(), a, messenger.Answer{Done: true}))
	require.Equal(t, "APP-1 <", shown(w.all()[0]), "the text comes with the press")
	require.Empty(t, buttons(w.all()[0]))
	require.Equal(t, "APP-1 &lt;", w.all()[0].text)
	require.NoError(t, c.Edit(t.Context(), id, decision))
	w.meanwhile = func() {
		require.NoError(t, c.Edit(t.Context(), id, messenger.Message{Title: "deployed", Choices: decision.Choices[:1]}))
	}
	require.NoError(t, c.Answer(t.Context(), a, messenger.Answer{Done: true}))
	require.Equal(t, "deployed", shown(w.all()[0]), "an edit that came first, and reached Slack first")
	require.Len(t, buttons(w.all()[0]), 1)
	require.Empty(t, w.told, "who is told nothing gets no message")
}

// A dialog that comes too late is no reason to take the act for ever.
func TestLateDialog(t *testing.T) {
	t.Parallel()
	w, c := opened(t)
	w.expired = true
	ask := messenger.Answer{Text: "why?", Ask: true}
	a := messenger.Act{ID: "T1", Handle: "T1", By: kim, Message: "C1/1", Choice: "reject.1.a"}
	require.NoError(t, c.Answer(t.Context(), a, ask))
	require.Equal(t, []string{"That took too long to open a dialog: press the button again."}, w.told)
	w.broken["/views.open"] = faulttest.Final
	require.Error(t, c.Answer(t.Context(), a, ask))
	w.broken["/views.open"] = faulttest.Later
	require.Equal(t, 7*time.Second, fault.After(c.Answer(t.Context(), a, ask)))
}

func TestWrongTokens(t *testing.T) {
	t.Parallel()
	for _, o := range []slack.Options{
		{Token: secret.New("other"), AppToken: secret.New(appToken), Channel: "C1"},
		{Token: secret.New(token), AppToken: secret.New("other"), Channel: "C1"}, {Token: secret.New(token), AppToken: secret.New(appToken)},
	} {
		_, err := slack.New(o)
		require.ErrorContains(t, err, "slack: Options.")
		require.NotContains(t, err.Error(), "other")
	}
	for code, want := range map[string]error{
		"invalid_auth": messenger.ErrUnreachable, "not_in_channel": messenger.ErrUnreachable, "cant_update_message": messenger.ErrGone, "no_text": nil,
		"internal_error": nil,
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"ok":false,"error":"` + code + `"}`))
		}))
		t.Cleanup(srv.Close)
		var out bytes.Buffer
		c := connect(t, srv.URL, slog.New(slog.NewTextHandler(&out, nil)))
		_, err := c.Send(t.Context(), decision)
		require.Error(t, err, code)
		require.Equal(t, want, errors.Unwrap(err), code)
		require.Equal(t, code == "internal_error", fault.Retryable(err), code)
		said := ""
		c.Examine(t.Context(), func(level, _, text string) { said = level + " " + text })
		require.Contains(t, said, "FAIL slack: "+code+": ")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		c.Listen(ctx, nil)
		cancel()
		require.Contains(t, out.String(), "slack: "+code)
		for _, text := range []string{err.Error(), said, out.String()} {
			require.NotContains(t, text, token)
			require.NotContains(t, text, appToken)
		}
	}
	c := connect(t, "http://127.0.0.1:1", nil)
	_, err := c.Send(t.Context(), decision)
	require.True(t, fault.Retryable(err))
	require.NotContains(t, err.Error(), token)
	require.NoError(t, c.Moved(t.Context()))
}
