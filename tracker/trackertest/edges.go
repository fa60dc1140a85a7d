package trackertest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Edges holds what not every tracker has. What a field is missing for is not tried.
type Edges struct {
	// Block makes an item a prerequisite of another one of its project: the tracker is a
	// tracker.Relations.
	Block func(item, by string)
	// Label gives an item labels in the place of those that it has.
	Label func(item string, labels ...string)
	// HookTo sets where signed webhooks go: the tracker is a tracker.Receiver.
	HookTo func(url string)
}

// resolves compares a board with the rule of fallbacks, status by status.
func resolves(t *testing.T, f Fixture) {
	columns := []stage.Status{stage.StatusToAnalyse, stage.StatusInReview, stage.StatusDone}
	p := f.project(t, columns...)
	id := f.NewItem(p, "t", "d")
	names, err := f.Tracker.Columns(t.Context(), p)
	require.NoError(t, err)
	for _, s := range all() {
		served, ok := tracker.Resolve(s, func(s stage.Status) bool { return slices.Contains(columns, s) })
		name, listed := names[s]
		require.Equal(t, ok, listed, s)
		err := f.Tracker.SetStatus(t.Context(), p, id, s)
		if !ok {
			require.ErrorIs(t, err, tracker.ErrNoStatus, s)
			continue
		}
		require.NoError(t, err)
		item := f.item(t, p, id)
		require.Equal(t, served, item.Status)
		require.Equal(t, name, item.StatusName, "the column of %s", s)
	}
}

// apart proves that an id alone names an item.
func apart(t *testing.T, f Fixture) {
	p, other := f.NewProject(all()...), f.NewProject(all()...)
	require.NotEqual(t, p, other)
	require.NotEqual(t, f.NewItem(p, "t", "d"), f.NewItem(other, "t", "d"))
}

// refuses proves of the calls that read that a limit is passed on: when to come again.
func refuses(t *testing.T, f Fixture) {
	p := f.NewProject(all()...)
	id, unread := f.NewItem(p, "t", "d"), f.NewProject(all()...) // columns may be cached
	f.canFail(t)
	calls := map[string]func(context.Context) error{
		"Item": func(ctx context.Context) error { _, err := f.Tracker.Item(ctx, p, id); return err },
		"List": func(ctx context.Context) error {
			_, err := f.Tracker.List(ctx, tracker.Query{ProjectID: p})
			return err
		},
		"Comments": func(ctx context.Context) error { _, err := f.Tracker.Comments(ctx, p, id); return err },
		"Columns":  func(ctx context.Context) error { _, err := f.Tracker.Columns(ctx, unread); return err },
	}
	if log, ok := f.Tracker.(tracker.Log); ok {
		calls["LastMove"] = func(ctx context.Context) error { _, err := log.LastMove(ctx, p, id); return err }
	}
	for name, call := range calls {
		f.Fail(name, faulttest.Later)
		err := call(t.Context())
		require.True(t, fault.Retryable(err), "%s: %v", name, err)
		require.Positive(t, fault.After(err), "%s: %v", name, err)
		f.Fail(name, faulttest.None)
		require.NoError(t, call(t.Context()), name)
	}
}

func relates(t *testing.T, f Fixture) {
	if f.Block == nil {
		t.Skip("Edges.Block is nil: the tracker has no relations")
	}
	relations := part[tracker.Relations](t, f)
	p := f.NewProject(all()...)
	one, other, free := f.NewItem(p, "one", "d"), f.NewItem(p, "other", "d"), f.NewItem(p, "free", "d")
	f.Block(one, other)
	f.Block(one, free)
	got, err := relations.BlockedBy(t.Context(), p, one)
	require.NoError(t, err)
	require.ElementsMatch(t, []tracker.Ref{{ProjectID: p, ItemID: other}, {ProjectID: p, ItemID: free}}, got)
	got, err = relations.BlockedBy(t.Context(), p, free)
	require.NoError(t, err)
	require.Empty(t, got)
	got, err = relations.BlockedBy(t.Context(), p, nothing)
	require.True(t, errors.Is(err, tracker.ErrNotFound) || err == nil && len(got) == 0, "%v", err)
}

// stays proves that a comment, and setting the status that an item has, are no move, where the tracker says when one was.
func stays(t *testing.T, f Fixture) {
	p, id := f.card()
	read := func() tracker.Item {
		item := f.item(t, p, id)
		require.False(t, item.Moved().IsZero())
		return item
	}
	if f.Move(id, stage.StatusInReview); read().MovedAt.IsZero() {
		t.Skip("the tracker does not say when an item was moved (Item.MovedAt)")
	}
	before := read()
	f.Say(id, "hm")
	_, err := f.Tracker.AddComment(t.Context(), tracker.NewComment{ProjectID: p, ItemID: id, Key: "k", Body: "b"})
	require.NoError(t, err)
	require.NoError(t, f.Tracker.SetStatus(t.Context(), p, id, stage.StatusInReview))
	require.Equal(t, before.MovedAt, read().MovedAt)
	if log, ok := f.Tracker.(tracker.Log); ok {
		m, err := log.LastMove(t.Context(), p, id)
		require.NoError(t, err)
		require.True(t, m.At.Equal(before.MovedAt), "%s by the log, %s by the item", m.At, before.MovedAt)
	}
	f.Move(id, stage.StatusApproved)
	require.True(t, read().MovedAt.After(before.MovedAt))
}

// labels proves that an item is read with its labels, wherever it stands.
func labels(t *testing.T, f Fixture) {
	if f.Label == nil {
		t.Skip("Edges.Label is nil: the tracker has no labels")
	}
	p := f.NewProject(all()...)
	one, bare := f.NewItem(p, "one", "d"), f.NewItem(p, "bare", "d")
	want := []string{"Bug", "good first issue", "ярлык"}
	f.Label(one, want...)
	require.NoError(t, f.Tracker.SetStatus(t.Context(), p, one, stage.StatusInProgress))
	f.Move(one, stage.StatusApproved)
	item, err := f.Tracker.Item(t.Context(), p, one)
	require.NoError(t, err)
	require.ElementsMatch(t, want, item.Labels)
	f.Label(one, "Bug")
	item, err = f.Tracker.Item(t.Context(), p, one)
	require.NoError(t, err)
	require.Equal(t, []string{"Bug"}, item.Labels)
	item, err = f.Tracker.Item(t.Context(), p, bare)
	require.NoError(t, err)
	require.Empty(t, item.Labels)
}

// receives lets the tracker's own webhooks come in, each of which is verified and decoded.
func receives(t *testing.T, f Fixture) {
	if f.HookTo == nil {
		t.Skip("Edges.HookTo is nil: the tracker sends no webhooks")
	}
	edge := part[tracker.Receiver](t, f)
	p := f.NewProject(all()...)
	r := receive(t, edge, f.HookTo)
	id := f.NewItem(p, "Cache <tiles>", "d")
	moved := func(h tracker.Hook) bool { return h.Kind == tracker.HookItemUpdated && h.Status }
	commented := func(h tracker.Hook) bool { return h.Kind == tracker.HookComment }
	by := func(h tracker.Hook, self bool) {
		t.Helper()
		require.Equal(t, []string{p, id}, []string{h.ProjectID, h.ItemID})
		require.Equal(t, self, h.Self)
		require.Equal(t, !self, h.ActorID == f.Person.ID)
		require.False(t, h.Unsigned)
		require.NotEmpty(t, h.Event)
	}
	by(r.next(t, func(h tracker.Hook) bool { return h.Kind == tracker.HookItemCreated }), false)
	f.Move(id, stage.StatusInReview)
	h := r.next(t, moved)
	by(h, false)
	if h.To != "" {
		to, err := f.Tracker.StatusOf(t.Context(), p, h.To)
		require.NoError(t, err)
		require.Equal(t, stage.StatusInReview, to)
	}
	require.NoError(t, f.Tracker.SetStatus(t.Context(), p, id, stage.StatusBlocked))
	by(r.next(t, moved), true)
	f.Say(id, "looks good")
	h = r.next(t, commented)
	by(h, false)
	require.Equal(t, "looks good", h.Body)
	own := tracker.NewComment{ProjectID: p, ItemID: id, Author: stage.Reviewer, Key: "7/3/0", Body: "b"}
	_, err := f.Tracker.AddComment(t.Context(), own)
	require.NoError(t, err)
	by(r.next(t, commented), true)
	h, err = edge.Decode("unheard_of", []byte(`{}`))
	require.NoError(t, err)
	require.Equal(t, tracker.HookOther, h.Kind)
}

// receiver takes webhooks in.
type receiver struct{ hooks chan tracker.Hook }

// hooksWait is how long a webhook may take.
const hooksWait = 20 * time.Second

// receive has webhooks come in until the test ends.
func receive(t *testing.T, edge tracker.Receiver, hookTo func(string)) receiver {
	r := receiver{make(chan tracker.Hook, 100)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Errorf("a webhook breaks off: %v", err)
		}
		if h, ok := verify(t, edge, req.Header, body); ok {
			r.hooks <- h
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	hookTo(srv.URL)
	t.Cleanup(func() { hookTo(""); srv.Close() })
	return r
}

// verify decodes a webhook whose signature is right, and reports what is wrong.
func verify(t *testing.T, edge tracker.Receiver, head http.Header, body []byte) (h tracker.Hook, ok bool) {
	passes := func(body []byte) bool {
		check, err := edge.Signature(head)
		if err != nil {
			return false
		}
		_, _ = check.Write(body)
		return check.Passed()
	}
	id, event := edge.Delivery(head)
	switch _, err := edge.Signature(http.Header{}); {
	case err == nil || !strings.Contains(err.Error(), signature.ErrMissing.Error()):
		t.Errorf("no signature: %v", err)
	case !passes(body) || passes(append(slices.Clone(body), ' ')):
		t.Errorf("the signature of %s does not hold, or holds for another body", event)
	case id == "" || event == "":
		t.Errorf("delivery %q of %q", id, event)
	}
	if _, err := edge.Decode(event, body[:len(body)/2]); err == nil {
		t.Errorf("half of %s is decoded", event)
	}
	h, err := edge.Decode(event, body)
	if err != nil {
		t.Errorf("%s: %v", event, err)
	}
	return h, err == nil
}

// next is the next webhook of a kind.
func (r receiver) next(t *testing.T, is func(tracker.Hook) bool) tracker.Hook {
	t.Helper()
	timeout := time.After(hooksWait)
	for {
		select {
		case h := <-r.hooks:
			if is(h) {
				return h
			}
		case <-timeout:
			require.FailNow(t, "no such webhook comes")
		}
	}
}
