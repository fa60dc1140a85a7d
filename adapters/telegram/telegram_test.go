package telegram_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/telegram"
	"github.com/signalbox-dev/signalbox/adapters/telegram/telegramtest"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/messenger/messengertest"
)

const token = "123456:TOKEN-secret"

func setup(t *testing.T) (*telegram.Chat, *telegramtest.Server) {
	t.Helper()
	api := telegramtest.New(token)
	srv := httptest.NewServer(api)
	t.Cleanup(srv.Close)
	c, err := telegram.New(telegram.Options{Token: token, ChatID: "-100200", BaseURL: srv.URL})
	require.NoError(t, err)
	return c, api
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
			Delete: func(id string) {
				n, err := strconv.Atoi(id)
				require.NoError(t, err)
				api.Delete(n)
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
		telegramtest.TooMany:     {again: true, after: time.Second},
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
	id, err := c.Send(t.Context(), messenger.Message{Title: "x", Silent: true})
	require.NoError(t, err)
	require.True(t, api.Messages()[0].Silent)
	api.Fail(telegramtest.NotEditable)
	require.ErrorIs(t, c.Edit(t.Context(), id, messenger.Message{Title: "y"}), messenger.ErrGone)
	require.ErrorIs(t, c.Edit(t.Context(), "no number", messenger.Message{Title: "y"}), messenger.ErrGone)
}

func TestWrongToken(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(telegramtest.New("other"))
	t.Cleanup(srv.Close)
	c, err := telegram.New(telegram.Options{Token: token, ChatID: "@channel", BaseURL: srv.URL})
	require.NoError(t, err)
	err = c.Ping(t.Context())
	require.ErrorIs(t, err, messenger.ErrUnreachable)
	require.NotContains(t, err.Error(), "secret")
}

func TestPing(t *testing.T) {
	t.Parallel()
	c, api := setup(t)
	require.NoError(t, c.Ping(t.Context()))
	require.Equal(t, 1, api.Calls("getMe"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, c.Ping(ctx))
}

func TestNewRefuses(t *testing.T) {
	_, err := telegram.New(telegram.Options{ChatID: "1"})
	require.ErrorContains(t, err, "Token is missing")
	_, err = telegram.New(telegram.Options{Token: "1"})
	require.ErrorContains(t, err, "ChatID is missing")
}

func TestRender(t *testing.T) {
	require.Equal(t, "…", telegram.Render(messenger.Message{}))
	require.Equal(t, "a", telegram.Render(messenger.Message{Lines: []string{"a"}}))
	long := telegram.Render(messenger.Message{Title: strings.Repeat("🚦", 4000), Lines: []string{"b"}, Link: "l"})
	require.True(t, strings.HasPrefix(long, "<b>"))
	require.True(t, strings.HasSuffix(long, "…</b>"))
	require.Equal(t, "<b>a\ufffd</b>", telegram.Render(messenger.Message{Title: "a\xff"}))
}

// What a message looks like on the wire.
func ExampleRender() {
	fmt.Println(telegram.Render(messenger.Message{Title: "APP-1: a < b", Lines: []string{"testing → development: tests & lint failed."}}))
	// Output:
	// <b>APP-1: a &lt; b</b>
	// testing → development: tests &amp; lint failed.
}
