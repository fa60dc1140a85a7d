package telegram_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/telegram"
	"github.com/signalbox-dev/signalbox/internal/telegramtest"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

var kim = telegramtest.User{ID: 12345, Name: "Kim"}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// hearing has a chat listen until the test ends, or the function that it returns is called.
func hearing(t *testing.T, c *telegram.Chat, take func(messenger.Act) error) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { c.Listen(ctx, func(_ context.Context, a messenger.Act) error { return take(a) }) })
	end = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(end)
	return end
}

func asking(t *testing.T, c *telegram.Chat) int {
	t.Helper()
	read(t, c.Send, messenger.Message{Title: "APP-1", Choices: []messenger.Choice{{ID: "reject.1.a", Label: "Reject"}}})
	return 1
}

// An act is confirmed to Telegram once it was taken: what a process has not taken when it dies, the next one gets.
func TestUnconfirmedActs(t *testing.T) {
	t.Parallel()
	c, api := setup(t)
	id := asking(t, c)
	api.Press(kim, id, "Reject")
	tried := make(chan struct{}, 100)
	end := hearing(t, c, func(messenger.Act) error { tried <- struct{}{}; return errors.New("the store is down") })
	<-tried
	end() // it dies
	require.Equal(t, 1, api.Waiting())
	var taken atomic.Int64
	hearing(t, open(t, api), func(messenger.Act) error { taken.Add(1); return nil })
	require.Eventually(t, func() bool { return api.Waiting() == 0 }, 5*time.Second, time.Millisecond)
	require.EqualValues(t, 1, taken.Load())
}

// Of two that poll one gets what comes, and the other waits; a webhook that was set before is taken off.
func TestTwoPollers(t *testing.T) {
	t.Parallel()
	c, api := setup(t)
	hooked, err := telegram.New(telegram.Options{Token: hidden, ChatID: "1", BaseURL: serve(t, api), Secret: hidden, Hooks: "https://box.example.org/webhooks/telegram"})
	require.NoError(t, err)
	end := hearing(t, hooked, func(messenger.Act) error { return nil })
	require.Eventually(t, func() bool { return api.Calls("setWebhook") == 1 }, 5*time.Second, time.Millisecond)
	end()
	require.Zero(t, api.Calls("getUpdates"))
	var taken atomic.Int64
	take := func(messenger.Act) error { taken.Add(1); return nil }
	hearing(t, c, take)
	require.Eventually(t, func() bool { return api.Calls("getUpdates") == 1 }, 5*time.Second, time.Millisecond)
	hearing(t, open(t, api), take)
	require.Eventually(t, func() bool { return api.Calls("getUpdates") == 2 }, 5*time.Second, time.Millisecond)
	id := asking(t, c)
	api.Press(kim, id, "Reject")
	require.Eventually(t, func() bool { return api.Waiting() == 0 }, 5*time.Second, time.Millisecond)
	require.EqualValues(t, 1, taken.Load())
	require.LessOrEqual(t, api.Calls("getUpdates"), 3, "the first waits before it polls again")
}

// A webhook is one of Telegram's when it shows the secret.
func TestWebhook(t *testing.T) {
	t.Parallel()
	api := telegramtest.New(token)
	_, err := telegram.New(telegram.Options{Token: hidden, ChatID: "1", Secret: hidden, Hooks: "http://box.example.org"})
	require.ErrorContains(t, err, "https")
	c, err := telegram.New(telegram.Options{Token: hidden, ChatID: "1", BaseURL: serve(t, api), Secret: secret.New("s3cret"), Hooks: "https://box.example.org/webhooks/telegram"})
	require.NoError(t, err)
	hearing(t, c, func(messenger.Act) error { return nil })
	require.Eventually(t, func() bool { return api.Calls("setWebhook") == 1 }, 5*time.Second, time.Millisecond)
	api.Press(kim, asking(t, c), "Reject")
	status, err := api.Push(t.Context(), func(r *http.Request) (int, error) {
		require.Equal(t, "https://box.example.org/webhooks/telegram", r.URL.String())
		_, err := c.Signature(r.Header)
		return http.StatusOK, err
	})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	_, err = c.Signature(http.Header{"X-Telegram-Bot-Api-Secret-Token": {"s3cre"}})
	require.Error(t, err)
	none, _ := setup(t)
	_, err = none.Signature(http.Header{"X-Telegram-Bot-Api-Secret-Token": {""}})
	require.Error(t, err, "without a secret nothing passes")
}

// A message that looks like a question is none, and nobody answers the question of another.
func TestForgedQuestions(t *testing.T) {
	t.Parallel()
	c, api := setup(t)
	acts := make(chan messenger.Act, 100)
	hearing(t, c, func(a messenger.Act) error { acts <- a; return nil })
	read(t, c.Send, messenger.Message{Title: `<a href="tg://user?id=12345">Kim</a>: why?`, Lines: []string{"[reject.1.a/1]"}})
	api.Reply(kim, 1, "because")
	id := read(t, c.Send, messenger.Message{To: "-100200/7", Title: "x", Choices: []messenger.Choice{{ID: "reject.1.a", Label: "Reject"}}})
	require.True(t, api.Press(kim, 3, "Reject"), id)
	a := <-acts
	api.Expire()
	require.NoError(t, c.Answer(t.Context(), a, messenger.Answer{Text: "why?", Ask: true}), "the question counts, whatever became of the press")
	list := api.Messages()
	question := list[len(list)-1]
	require.Equal(t, 7, question.Topic, "it is asked in the topic of its message")
	require.Equal(t, "Kim: why?\n[reject.1.a/3]", telegramtest.Plain(question.Text))
	api.Reply(telegramtest.User{ID: 666, Name: "Mal"}, question.ID, "I answer for Kim")
	api.Reply(kim, question.ID, "for me")
	require.Equal(t, "for me", (<-acts).Text)
	api.Reply(kim, question.ID, "[picture] as here")
	require.Equal(t, "as here", (<-acts).Text)
	require.Empty(t, acts)
}

// Messages go to the topic of a forum, and are edited after a restart wherever they are.
func TestTopics(t *testing.T) {
	t.Parallel()
	c, api := setup(t)
	id := read(t, c.Send, messenger.Message{To: "-100300/7", Title: "x"})
	m := api.Messages()[0]
	require.Equal(t, []any{"-100300", 7}, []any{m.Chat, m.Topic})
	require.NoError(t, open(t, api).Edit(t.Context(), id, messenger.Message{Title: "y"}))
	api.Upgrade("-100300", -1009)
	id = read(t, c.Send, messenger.Message{To: "-100300/7", Title: "z"})
	require.ErrorContains(t, c.Moved(t.Context()), "set chat in projects.yaml to -1009")
	again := open(t, api) // which has not seen yet that the group has moved
	require.NoError(t, again.Edit(t.Context(), id, messenger.Message{Title: "edited"}))
	require.Equal(t, "edited", telegramtest.Plain(api.Messages()[1].Text))
}

// read asks a port, which is to answer.
func read[Q, A any](t testing.TB, port func(context.Context, Q) (A, error), of Q) A {
	t.Helper()
	answer, err := port(t.Context(), of)
	require.NoError(t, err)
	return answer
}
