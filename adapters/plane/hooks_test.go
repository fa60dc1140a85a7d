package plane_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// passes checks a body as a receiver does.
func passes(c *plane.Client, h http.Header, body []byte) bool {
	check, err := c.Signature(h)
	if err != nil {
		return false
	}
	_, _ = check.Write(body)
	return check.Passed()
}

// Plane writes a payload when it sends it. One that shows a later state than the one that it reports has
// the time of the later move; what the column means is found without a call, by its name or in memory.
func TestDecodeWithoutACall(t *testing.T) {
	t.Parallel()
	c, s := setup(t)
	stop := func(shown string) []byte {
		return []byte(`{"event":"issue","action":"updated","data":{"id":"` + itemID + `","project":"` + projectID + `","updated_at":"2031-02-03T04:05:06Z","state":` + shown + `},
			"activity":{"field":"state_id","new_value":"s-stop","actor":{"id":"` + kim + `"}}}`)
	}
	for shown, want := range map[string]struct {
		word stage.Status
		at   bool
		ends string
	}{
		`{"id":"s-stop","name":"Stop"}`:                           {stage.StatusStop, true, ""},
		`{"id":"s-stop","name":"Cancelled","group":"cancelled"}`:  {"", true, "Cancelled"},
		`{"id":"s-other","name":"Cancelled","group":"cancelled"}`: {"", false, ""},
		`{"id":"s-other","name":"Backlog"}`:                       {"", false, ""},
		`"s-stop"`:                                                {"", true, ""},
		`"s-other"`:                                               {"", false, ""},
		`null`:                                                    {"", true, ""},
	} {
		h, err := c.Decode("", stop(shown))
		require.NoError(t, err, shown)
		require.Equal(t, want.word, h.Word, shown)
		require.Equal(t, want.at, !h.At.IsZero(), shown)
		require.Equal(t, []any{want.ends != "", want.ends}, []any{h.Finished, h.Column}, shown)
	}
	p := s.AddProject("STP", "Backlog", "STOP")
	_, err := c.Columns(t.Context(), p)
	require.NoError(t, err)
	column := s.States(p)[1].ID
	h, err := c.Decode("", bytes.ReplaceAll(bytes.ReplaceAll(stop(`"s-other"`), []byte("s-stop"), []byte(column)), []byte(projectID), []byte(p)))
	require.NoError(t, err)
	require.Equal(t, stage.StatusStop, h.Word, "by what is cached of the board")
}

func TestSignature(t *testing.T) {
	t.Parallel()
	body := []byte(`{"event": "issue", "action": "updated", "n": "\u041f\u0440\u0438\u0432\u0435\u0442"}`)
	const vector = "plane_wh_0123456789abcdef0123456789abcdef"
	c, _ := setup(t, func(o *plane.Options) { o.Secrets = signature.Of(vector) })
	h := http.Header{}
	h.Set("X-Plane-Signature", "931ba88cc0d207f2c48201754d1e7e8e09e6958f918e6128abf15fd90dd3ae7e")
	require.True(t, passes(c, h, body))
	require.False(t, passes(c, h, append(body, ' ')))
	for _, bad := range []string{"", "sha256=" + h.Get("X-Plane-Signature"), "zz", h.Get("X-Plane-Signature")[:32], strings.Repeat("0", 64)} {
		h.Set("X-Plane-Signature", bad)
		require.False(t, passes(c, h, body), bad)
	}
	h.Set("X-Plane-Signature", "931ba88cc0d207f2c48201754d1e7e8e09e6958f918e6128abf15fd90dd3ae7e")
	c.SetSecrets(signature.Of("another"))
	require.False(t, passes(c, h, body))
	c.SetSecrets(signature.Of("another", vector))
	require.True(t, passes(c, h, body))
	open, _ := setup(t, func(o *plane.Options) { o.Secrets = nil })
	require.False(t, passes(open, http.Header{}, body), "no secret lets nobody in")
	insecure, _ := setup(t, func(o *plane.Options) { o.Secrets, o.Insecure = nil, true })
	require.True(t, passes(insecure, http.Header{}, body))
}

func TestDecode(t *testing.T) {
	t.Parallel()
	c, _ := setup(t)
	hook := func(kind, event string, change func(*tracker.Hook)) tracker.Hook {
		h := tracker.Hook{Kind: kind, Event: event, ProjectID: projectID, ItemID: itemID, ActorID: kim}
		if change != nil {
			change(&h)
		}
		return h
	}
	said := func(event, body string, self bool) tracker.Hook {
		return hook(tracker.HookComment, event, func(h *tracker.Hook) { h.Body, h.Self = body, self })
	}
	for file, want := range map[string]tracker.Hook{
		"issue_created":          hook(tracker.HookItemCreated, "issue.created", nil),
		"issue_updated_state_id": hook(tracker.HookItemUpdated, "issue.updated", func(h *tracker.Hook) { h.Status, h.Browser, h.To, h.Word = true, true, "9100-02", stage.StatusApproved }),
		"issue_updated_state_api": hook(tracker.HookItemUpdated, "issue.updated", func(h *tracker.Hook) {
			h.Status, h.To, h.Word, h.ActorID = true, "9100-02", stage.StatusApproved, ourselves
		}),
		"issue_updated_labels":      hook(tracker.HookItemUpdated, "issue.updated", nil),
		"issue_updated_description": hook(tracker.HookItemUpdated, "issue.updated", nil),
		"issue_deleted":             hook(tracker.HookOther, "issue.deleted", func(h *tracker.Hook) { h.ProjectID = "" }),
		"comment_created":           said("issue_comment.created", "looks **good**\nship <it>", false),
		"comment_updated":           said("issue_comment.updated", "looks **good**\nship <it>", false),
		"comment_own":               said("issue_comment.created", "looks **good**\nship <it>", true),
		"cycle_created":             hook(tracker.HookOther, "cycle.created", func(h *tracker.Hook) { h.ItemID, h.ProjectID = "cy", "" }),
		"v2_created":                hook(tracker.HookItemCreated, "workitem.created", func(h *tracker.Hook) { h.ActorID = "" }),
		"v2_constant_name": hook(tracker.HookItemUpdated, "workitem.updated", func(h *tracker.Hook) {
			h.Status, h.To = true, "91000000-5555-4555-8555-000000000002"
		}),
		"v2_comment":          said("workitem.comment.created", "looks good\nship <it>", false),
		"v2_comment_constant": said("workitem.comment.updated", "looks **good**\nship <it>", true),
		"v2_deleted":          hook(tracker.HookOther, "workitem.deleted", func(h *tracker.Hook) { h.ActorID = "" }),
		"v2_updated":          hook(tracker.HookItemUpdated, "workitem.updated", func(h *tracker.Hook) { h.Status, h.To = true, "9100-02" }),
		"v2_renamed":          hook(tracker.HookItemUpdated, "workitem.updated", func(h *tracker.Hook) { h.ActorID = ourselves }),
	} {
		body, err := os.ReadFile(filepath.Join("testdata", "hooks", file+".json"))
		require.NoError(t, err)
		got, err := c.Decode("", body)
		require.NoError(t, err, file)
		if at := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC); !got.At.IsZero() {
			require.WithinDuration(t, at, got.At, 24*time.Hour, file)
			got.At = time.Time{}
		} else {
			require.NotEqual(t, "issue_updated_state_id", file, "a moment is told")
		}
		if got.Actor.ID != "" {
			require.Equal(t, got.ActorID, got.Actor.ID, file)
			got.Actor = tracker.Person{}
		} else {
			require.NotEqual(t, "issue_updated_state_id", file, "the actor is described")
		}
		require.Equal(t, want, got, file)
		for _, cut := range []int{1, len(body) / 2, len(body) - 3} {
			_, err := c.Decode("issue", body[:cut])
			require.Error(t, err, "%s cut at %d", file, cut)
		}
	}
	for _, bad := range []string{
		`{"event":"issue","action":"updated"}`, `{"event":"issue","action":"updated","data":{"id":"x"}}`, `{"event":"issue","action":"created","data":{"project":"x"}}`,
		`{"event":"issue_comment","action":"created","data":{"id":"c","project":"p"}}`, `[]`, `"x"`, `{"data":7}`,
		`{"version":"v2","event":"workitem.updated","data":{"id":"x"}}`, `{"version":2,"event":"workitem.created","data":{"project_id":"p"}}`,
	} {
		_, err := c.Decode("issue", []byte(bad))
		require.Error(t, err, bad)
	}
	h, err := c.Decode("unheard_of", []byte(`{}`))
	require.NoError(t, err)
	require.Equal(t, tracker.HookOther, h.Kind)
}

// Our own changes come back as webhooks, and are known as our own.
func TestFeedback(t *testing.T) {
	t.Parallel()
	c, board := setup(t)
	identify(t, c)
	got := make(chan tracker.Hook, 20)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		_, err := r.Body.Read(body)
		if err != nil && err.Error() != "EOF" {
			t.Errorf("read: %v", err)
		}
		if !passes(c, r.Header, body) {
			t.Error("the signature is wrong")
		}
		id, event := c.Delivery(r.Header)
		if id == "" || event == "" {
			t.Errorf("delivery %q %q", id, event)
		}
		h, err := c.Decode(event, body)
		if err != nil {
			t.Errorf("decode: %v", err)
		}
		if h.Kind != tracker.HookOther {
			got <- h
		}
	}))
	defer receiver.Close()
	board.SetHookURL(receiver.URL)
	p := board.AddProject("GPX", planetest.StandardStates()...)
	next := func() tracker.Hook {
		t.Helper()
		select {
		case h := <-got:
			return h
		case <-time.After(10 * time.Second):
			t.Fatal("no webhook")
			return tracker.Hook{}
		}
	}
	id, err := board.AddItem(p, "🚦 Ünïcode \u202e", "<p>d</p>")
	require.NoError(t, err)
	require.Equal(t, tracker.HookItemCreated, next().Kind)
	require.NoError(t, board.Move(id, "to analyse"))
	h := next()
	require.True(t, h.Status && !h.Self)
	require.NoError(t, c.SetStatus(t.Context(), p, id, stage.StatusAnalysis))
	h = next()
	require.True(t, h.Status && h.Self)
	_, err = c.AddComment(t.Context(), tracker.NewComment{ProjectID: p, ItemID: id, Author: stage.Reviewer, Key: "k", Body: "b"})
	require.NoError(t, err)
	h = next()
	require.True(t, h.Kind == tracker.HookComment && h.Self)
}
