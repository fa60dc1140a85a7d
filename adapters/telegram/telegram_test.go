package telegram_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/adapters/telegram"
	"github.com/signalbox-dev/signalbox/internal/telegramtest"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/messenger/messengertest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

const token = "123456:TOKEN-secret"

var hidden = secret.New(token)

func setup(t *testing.T) (*telegram.Chat, *telegramtest.Server) {
	t.Helper()
	api := telegramtest.New(token)
	return open(t, api), api
}

// open makes a chat with a server. Its log fails the test when it holds the
// token.
func open(t *testing.T, h http.Handler) *telegram.Chat {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	var log bytes.Buffer
	t.Cleanup(func() { require.NotContains(t, log.String(), "secret") })
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	c, err := telegram.New(telegram.Options{
		Token: hidden, ChatID: "-100200", BaseURL: srv.URL + "/", HTTPClient: client, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	require.NoError(t, err)
	return c
}

// TestMain sees that no request is left behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func user(t *testing.T, a messenger.Account) telegramtest.User {
	t.Helper()
	id, err := strconv.ParseInt(a.ID, 10, 64)
	require.NoError(t, err)
	return telegramtest.User{ID: id, Name: a.Name}
}

func TestConformance(t *testing.T) {
	messengertest.Run(t, func(t *testing.T) messengertest.Fixture {
		c, api := setup(t)
		return messengertest.Fixture{
			Messenger: c,
			Shown: func() []string {
				var out []string
				for _, m := range api.Messages() {
					out = append(out, telegramtest.Plain(m.Text))
				}
				return out
			},
			Labels: func(id string) (out []string) {
				for _, m := range api.Messages() {
					for _, b := range m.Buttons {
						if strings.HasSuffix(id, "/"+strconv.Itoa(m.ID)) {
							out = append(out, b.Text)
						}
					}
				}
				return out
			},
			Press: func(by messenger.Account, id, label string) {
				_, number, _ := strings.Cut(id, "/")
				n, err := strconv.Atoi(number)
				require.NoError(t, err)
				require.True(t, api.Press(user(t, by), n, label))
			},
			Write: func(by messenger.Account, text string) {
				list := api.Messages()
				require.True(t, list[len(list)-1].Forced)
				api.Reply(user(t, by), list[len(list)-1].ID, text)
			},
			Told: func() (out []string) {
				for _, a := range api.Toasts() {
					out = append(out, a.Text)
				}
				return out
			},
			Delete: func(id string) {
				_, number, _ := strings.Cut(id, "/")
				n, err := strconv.Atoi(number)
				require.NoError(t, err)
				api.Delete(n)
			},
			Fail: func(call string, how faulttest.Kind) {
				methods := map[string]string{"Send": "sendMessage", "Edit": "editMessageText"}
				api.Break(methods[call], map[faulttest.Kind]telegramtest.Fault{
					faulttest.Final: telegramtest.Blocked, faulttest.Passing: telegramtest.ErrorBefore, faulttest.Later: telegramtest.TooMany,
				}[how])
			},
		}
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for fault, want := range map[telegramtest.Fault]struct {
		again bool
		after time.Duration
		is    error
		sent  int
	}{
		telegramtest.TooMany:     {again: true, after: 7 * time.Second},
		telegramtest.HangBefore:  {again: true},
		telegramtest.HangAfter:   {again: true, sent: 1},
		telegramtest.ErrorBefore: {again: true},
		telegramtest.ErrorAfter:  {again: true, sent: 1},
		telegramtest.Dropped:     {again: true},
		telegramtest.BadGateway:  {again: true},
		telegramtest.Blocked:     {is: messenger.ErrUnreachable},
		telegramtest.NoChat:      {is: messenger.ErrUnreachable},
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			c, api := setup(t)
			api.Fail(fault)
			api.SetRetryAfter(7)
			_, err := c.Send(t.Context(), messenger.Message{Title: "x"})
			require.Error(t, err)
			require.NotContains(t, err.Error(), "secret")
			var e *telegram.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, want.again, e.Retryable())
			require.Equal(t, want.after, e.RetryAfter())
			if want.is != nil {
				require.ErrorIs(t, err, want.is)
			}
			require.Len(t, api.Messages(), want.sent)
			_, err = c.Send(t.Context(), messenger.Message{Title: "x"})
			require.NoError(t, err, "the fault was for one call")
		})
	}
}

func TestNotEditable(t *testing.T) {
	t.Parallel()
	c, api := setup(t)
	id := read(t, c.Send, messenger.Message{Title: "x", Silent: true})
	require.True(t, api.Messages()[0].Silent)
	api.Fail(telegramtest.NotEditable)
	require.ErrorIs(t, c.Edit(t.Context(), id, messenger.Message{Title: "y"}), messenger.ErrGone)
	require.ErrorIs(t, c.Edit(t.Context(), "no number", messenger.Message{Title: "y"}), messenger.ErrGone)
}

// A group that has become a supergroup is followed, and what it has shown before is not
// mistaken for a message of the new one, which counts from 1 again.
func TestSupergroup(t *testing.T) {
	t.Parallel()
	c, api := setup(t)
	old := read(t, c.Send, messenger.Message{Title: "before", Silent: true})
	require.NoError(t, c.Moved(t.Context()))
	api.Upgrade("-100200", -1009876)
	require.ErrorIs(t, c.Edit(t.Context(), old, messenger.Message{Title: "edited"}), messenger.ErrGone)
	require.ErrorContains(t, c.Moved(t.Context()), "set ORCH_TELEGRAM_CHAT_ID to -1009876")
	calls := api.Calls("editMessageText")
	require.ErrorIs(t, c.Edit(t.Context(), old, messenger.Message{Title: "edited"}), messenger.ErrGone)
	require.ErrorIs(t, c.Edit(t.Context(), "1", messenger.Message{Title: "of an earlier version"}), messenger.ErrGone)
	require.Equal(t, calls, api.Calls("editMessageText"), "that is known now")
	id := read(t, c.Send, messenger.Message{Title: "after"})
	require.NoError(t, c.Edit(t.Context(), id, messenger.Message{Title: "after, edited"}))
	require.Equal(t, 2, api.Calls("sendMessage"))

	again := open(t, api) // the next start
	id, err := again.Send(t.Context(), messenger.Message{Title: "restarted"})
	require.NoError(t, err)
	require.NoError(t, again.Edit(t.Context(), id, messenger.Message{Title: "restarted, edited"}))
	var chats []string
	for _, m := range api.Messages() {
		chats = append(chats, m.Chat+" "+telegramtest.Plain(m.Text))
	}
	require.Equal(t, []string{"-100200 before", "-1009876 after, edited", "-1009876 restarted, edited"}, chats)

	api.Upgrade("-1009876", -1009876) // it leads nowhere
	_, err = c.Send(t.Context(), messenger.Message{Title: "x"})
	require.ErrorIs(t, err, messenger.ErrUnreachable)
}

func TestWrongToken(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(telegramtest.New("other"))
	t.Cleanup(srv.Close)
	c, err := telegram.New(telegram.Options{Token: hidden, ChatID: "@channel", BaseURL: srv.URL})
	require.NoError(t, err)
	said := examine(t.Context(), c)
	require.Regexp(t, "^FAIL telegram: telegram: .*: @BotFather gives the token for ORCH_TELEGRAM_TOKEN$", said)
	require.NotContains(t, said, "secret")
	_, err = c.Send(t.Context(), messenger.Message{})
	require.ErrorIs(t, err, messenger.ErrUnreachable)
}

// examine returns the words of an examination.
func examine(ctx context.Context, c *telegram.Chat) (said string) {
	c.Examine(ctx, func(level, what, text string) { said += level + " " + what + ": " + text })
	return said
}

func TestExamine(t *testing.T) {
	t.Parallel()
	c, api := setup(t)
	require.Equal(t, "ok telegram: the token is accepted, and the bot sees the chat", examine(t.Context(), c))
	require.Equal(t, 1, api.Calls("getMe"))
	require.Equal(t, 1, api.Calls("getChat"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Contains(t, examine(ctx, c), "FAIL telegram: ")
}

func TestNewRefuses(t *testing.T) {
	_, err := telegram.New(telegram.Options{ChatID: "1"})
	require.ErrorContains(t, err, "Token is missing")
	_, err = telegram.New(telegram.Options{Token: secret.New("1")})
	require.ErrorContains(t, err, "ChatID is missing")
}

func TestRender(t *testing.T) {
	require.Equal(t, "…", telegram.Render(messenger.Message{}))
	require.Equal(t, "a", telegram.Render(messenger.Message{Lines: []string{"a"}}))
	require.Equal(t, "<b>a\ufffd</b>", telegram.Render(messenger.Message{Title: "a\xff"}))
}

func TestRenderCutsOnLines(t *testing.T) {
	t.Parallel()
	var m messenger.Message
	m.Title, m.Link = "APP-1", "https://example.org/APP-1"
	for i := range 1000 {
		m.Lines = append(m.Lines, fmt.Sprintf("line %d & more <🚦>", i))
	}
	text := telegramtest.Plain(telegram.Render(m))
	lines := strings.Split(text, "\n")
	require.LessOrEqual(t, len(utf16.Encode([]rune(text))), 4096)
	require.Greater(t, len(utf16.Encode([]rune(text))), 4000)
	n := len(lines)
	require.Equal(t, []string{"APP-1", m.Lines[0]}, lines[:2])
	require.Equal(t, m.Lines[n-4], lines[n-3], "whole lines only")
	require.Equal(t, fmt.Sprintf("… (%d more lines)", 1000-(n-3)), lines[n-2])
	require.Equal(t, m.Link, lines[n-1], "the link stays")

	text = telegramtest.Plain(telegram.Render(messenger.Message{Title: strings.Repeat("t", 2000), Lines: []string{strings.Repeat("🚦", 4000), "b"}, Link: strings.Repeat("l", 2000)}))
	lines = strings.Split(text, "\n")
	require.Len(t, lines, 3, "a link that is too long is left out")
	require.Equal(t, strings.Repeat("t", 1023)+"…", lines[0])
	require.True(t, strings.HasSuffix(lines[1], "🚦…"))
	require.Equal(t, "… (1 more lines)", lines[2])
}

// Whatever is written, Telegram takes it.
func TestRenderAlwaysFits(t *testing.T) {
	t.Parallel()
	c, api := setup(t)
	rapid.Check(t, func(r *rapid.T) {
		part := rapid.OneOf(rapid.String(), rapid.Map(rapid.IntRange(0, 5000), func(n int) string { return strings.Repeat("🚦<", n) }), rapid.Just("<b>&amp;</i>\x00"))
		m := messenger.Message{Title: part.Draw(r, "title"), Lines: rapid.SliceOf(part).Draw(r, "lines"), Link: part.Draw(r, "link")}
		if _, err := c.Send(t.Context(), m); err != nil {
			r.Fatal(err)
		}
		sent := api.Messages()
		last := sent[len(sent)-1]
		if !last.HTML || !last.NoLink || last.Silent {
			r.Fatalf("%+v", last)
		}
	})
}

// answer is a server that always says the same.
func answer(code int, description string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"ok":false,"error_code":%d,"description":%q}`, code, description)
	})
}

func TestWhatErrorsMean(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct {
		code  int
		is    error
		again bool
	}{
		"Bad Request: MESSAGE_ID_INVALID":                      {400, messenger.ErrGone, false},
		"Bad Request: message to edit not found":               {400, messenger.ErrGone, false},
		"Bad Request: not enough rights to send text messages": {400, messenger.ErrUnreachable, false},
		"Forbidden: bot was kicked from the supergroup chat":   {403, messenger.ErrUnreachable, false},
		"Unauthorized":                     {401, messenger.ErrUnreachable, false},
		"Not Found":                        {404, messenger.ErrUnreachable, false},
		"Bad Request: message is too long": {400, nil, false},
		"Bad Request: can't parse entities: " + strings.Repeat("x", 1000): {400, nil, false},
		"Conflict: terminated by other getUpdates request":                {409, nil, true},
		"Method Not Allowed":       {405, nil, false},
		"Gone":                     {410, nil, false},
		"Request Entity Too Large": {413, nil, false},
		"Unprocessable":            {422, nil, false},
		"Request Timeout":          {408, nil, true},
		"Too Early":                {425, nil, true},
		"Gateway Timeout":          {504, nil, true},
		"Internal Server Error /bot123456:TOKEN-secret/sendMessage": {500, nil, true},
		"bot123456%3ATOKEN-secret":                                  {502, nil, true},
	} {
		t.Run(text[:min(30, len(text))], func(t *testing.T) {
			t.Parallel()
			chat := open(t, answer(c.code, text))
			_, err := chat.Send(t.Context(), messenger.Message{Title: "x"})
			var e *telegram.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.again, e.Retryable())
			require.Zero(t, e.RetryAfter())
			require.NotContains(t, err.Error(), "secret")
			require.Less(t, len(err.Error()), 600)
			for _, sentinel := range []error{messenger.ErrGone, messenger.ErrUnreachable} {
				require.Equal(t, errors.Is(c.is, sentinel), errors.Is(err, sentinel), sentinel)
			}
		})
	}
}

func TestNothingListens(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	c, err := telegram.New(telegram.Options{Token: hidden, ChatID: "1", BaseURL: srv.URL})
	require.NoError(t, err, "the network is not called")
	_, err = c.Send(t.Context(), messenger.Message{Title: "x"})
	var e *telegram.Error
	require.ErrorAs(t, err, &e)
	require.True(t, e.Retryable())
	require.NotContains(t, err.Error(), "secret")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Send(ctx, messenger.Message{Title: "x"})
	require.ErrorIs(t, err, context.Canceled)
}

// A message that shows a state is edited in place.
func Example() {
	api := telegramtest.New("42:token") // a server of the Bot API in memory
	srv := httptest.NewServer(api)
	defer srv.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	chat, err := telegram.New(telegram.Options{Token: secret.New("42:token"), ChatID: "-100200", BaseURL: srv.URL, HTTPClient: client})
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := chat.Send(context.Background(), messenger.Message{Title: "APP-1", Lines: []string{"analysis"}, Silent: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := chat.Edit(context.Background(), id, messenger.Message{Title: "APP-1", Lines: []string{"development"}}); err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range api.Messages() {
		fmt.Printf("%q silent=%t edits=%d\n", telegramtest.Plain(m.Text), m.Silent, m.Edits)
	}
	// Output: "APP-1\ndevelopment" silent=true edits=1
}

// What a message looks like on the wire.
func Example_render() {
	fmt.Println(telegram.Render(messenger.Message{Title: "APP-1: a < b", Lines: []string{"testing → development: tests & lint failed."}}))
	// Output:
	// <b>APP-1: a &lt; b</b>
	// testing → development: tests &amp; lint failed.
}
