package web_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/chathook"
	"github.com/signalbox-dev/signalbox/adapters/telegram"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// An act in a chat that comes by a webhook is answered with success once it is taken, and only when it is signed.
func TestChatWebhooks(t *testing.T) {
	t.Parallel()
	const key = "a-secret-of-128-bits-for-webhooks"
	hook, err := chathook.New(chathook.Options{URL: secret.New("https://chat.example.org"), Secret: secret.New(key)})
	require.NoError(t, err)
	bot, err := telegram.New(telegram.Options{Token: secret.New("1:t"), ChatID: "1", Secret: secret.New(key), Hooks: "https://box.example.org/webhooks/telegram"})
	require.NoError(t, err)
	var acts []messenger.Act
	failure := errors.New("the store is down")
	k := setup(t, func(o *web.Options) {
		o.Sources = append(o.Sources, web.Source{Name: "chat", Chat: hook}, web.Source{Name: "telegram", Chat: bot})
		o.Hear = func(_ context.Context, a messenger.Act) error { acts = append(acts, a); return failure }
	})
	act := []byte(`{"id": "7", "by": {"id": "U1", "name": "Ann"}, "message": "m", "choice": "stop.1.0"}`)
	update := []byte(`{"update_id": 9, "callback_query": {"id": "q", "from": {"id": 5, "first_name": "Ann"}, "data": "stop.1.0"}}`)
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	signed := map[string]string{chathook.StampHeader: stamp, chathook.SignatureHeader: chathook.Sign([]byte(key), stamp, act)}
	shown := map[string]string{"X-Telegram-Bot-Api-Secret-Token": key}
	post := func(path string, header map[string]string, body []byte) int {
		with := map[string]string{"Content-Type": "application/json"}
		for name, value := range header {
			with[name] = value
		}
		return k.do(http.MethodPost, path, with, string(body)).status
	}
	require.Equal(t, http.StatusServiceUnavailable, post("/webhooks/chat", signed, act), "it is to come again")
	failure = nil
	require.Equal(t, http.StatusOK, post("/webhooks/chat", signed, act))
	require.Equal(t, http.StatusOK, post("/webhooks/telegram", shown, update))
	require.Equal(t, []string{"7", "7", "9"}, []string{acts[0].ID, acts[1].ID, acts[2].ID})
	require.Equal(t, messenger.Account{ID: "5", Name: "Ann"}, acts[2].By)
	require.Equal(t, http.StatusUnauthorized, post("/webhooks/chat", nil, act))
	require.Equal(t, http.StatusUnauthorized, post("/webhooks/telegram", map[string]string{"X-Telegram-Bot-Api-Secret-Token": key + "x"}, update))
	require.Equal(t, http.StatusUnauthorized, post("/webhooks/telegram", nil, update))
	newer := []byte(`{"update_id": 10, "message": {"forward_origin": {"type": "of a later version"}}}`)
	require.Equal(t, http.StatusOK, post("/webhooks/telegram", shown, newer), "it can never be read, and others wait behind it")
	require.Len(t, acts, 3)
}

// A note is kept for the next run, in the journal.
func TestNote(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	k.begin()
	k.is(http.StatusAccepted, k.order("/tasks/1/notes", `{"text": "mind the poles"}`))
	k.is(http.StatusBadRequest, k.order("/tasks/1/notes", strings.Repeat("x", admin.NoteMax)))
	k.is(http.StatusConflict, k.order("/tasks/1/notes", `{"text": " "}`))
	story, err := k.store.Journal(t.Context(), 1)
	require.NoError(t, err)
	a, err := story[len(story)-1].Acted()
	require.NoError(t, err)
	require.Equal(t, []string{"note", "mind the poles", "admin"}, []string{a.Act, a.Why, a.By.ID})
}
