package planetest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/planetest"
)

// call is a webhook as a receiver gets it.
type call struct {
	header http.Header
	raw    []byte
	body   struct {
		Event, Action string
		Data          map[string]any
		Activity      struct {
			Field, Old, New any
			Actor           struct{ ID string }
		}
	}
}

func (c call) name() string { s, _ := c.body.Data["name"].(string); return s }

// receive starts a receiver; what answers a webhook may be given.
func receive(t *testing.T, s *planetest.Server, answer func(w http.ResponseWriter)) <-chan call {
	t.Helper()
	calls := make(chan call, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		c := call{header: r.Header, raw: raw}
		if err == nil {
			err = json.Unmarshal(raw, &c.body)
		}
		if err != nil {
			t.Errorf("a webhook that cannot be read: %v", err)
		}
		if answer != nil {
			answer(w)
		}
		calls <- c
	}))
	t.Cleanup(func() { s.Close(); srv.Close() })
	s.SetHookURL(srv.URL)
	return calls
}

func next(t *testing.T, calls <-chan call) call {
	t.Helper()
	select {
	case c := <-calls:
		return c
	case <-time.After(20 * time.Second):
		t.Fatal("no webhook")
		return call{}
	}
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	s, p, at := open(t, planetest.Options{Secret: "s3cret"})
	calls := receive(t, s, nil)
	ids := map[string]bool{}
	expect := func(event, action, actor string, field any) call {
		t.Helper()
		c := next(t, calls)
		mac := hmac.New(sha256.New, []byte("s3cret"))
		mac.Write(c.raw)
		require.Equal(t, hex.EncodeToString(mac.Sum(nil)), c.header.Get("X-Plane-Signature"))
		require.Equal(t, event, c.header.Get("X-Plane-Event"))
		require.Equal(t, []any{event, action, actor, field}, []any{c.body.Event, c.body.Action, c.body.Activity.Actor.ID, c.body.Activity.Field})
		require.False(t, ids[c.header.Get("X-Plane-Delivery")], "each delivery has an id of its own")
		ids[c.header.Get("X-Plane-Delivery")] = true
		for _, b := range c.raw {
			require.True(t, b >= 0x20 && b < 0x7f, "nothing but ASCII")
		}
		return c
	}
	const human = "0000face-0000-4000-8000-000000000001"
	id := addItem(t, s, p, "Zähler 🚦\u007f\b", "<p>d</p>")
	c := expect("issue", "created", human, nil)
	require.Contains(t, string(c.raw), `"name": "Z\u00e4hler \ud83d\udea6\u007f\b"`)
	require.Equal(t, "Zähler 🚦\u007f\b", c.name())
	raw, err := os.ReadFile("../../adapters/plane/testdata/hooks/issue_created.json") // that a Plane has sent
	require.NoError(t, err)
	var sent call
	require.NoError(t, json.Unmarshal(raw, &sent.body))
	for key := range sent.body.Data {
		require.Contains(t, slices.Sorted(maps.Keys(c.body.Data)), key)
	}
	require.NoError(t, s.Move(id, "in progress"))
	dragged := []any{next(t, calls).body.Activity.Field, next(t, calls).body.Activity.Field}
	require.ElementsMatch(t, []any{"state_id", "sort_order"}, dragged, "a drag changes the place too")
	item := at + "/api/v1/workspaces/acme/projects/" + p + "/work-items/" + id + "/"
	must(t, "PATCH", item, `{"state":"`+s.States(p)[2].ID+`"}`)
	expect("issue", "updated", bot, "state")
	must(t, "PATCH", item, `{"name":"n","description_html":"<p>d</p>"}`)
	expect("issue", "updated", bot, "name") // the description is the same
	s.Edit(id, "m", "<p>e</p>")
	fields := []any{next(t, calls).body.Activity.Field, next(t, calls).body.Activity.Field}
	require.ElementsMatch(t, []any{"name", "description_html"}, fields, "one webhook for each field")
	require.NoError(t, s.Say(id, "<p>hi</p>"))
	c = expect("issue_comment", "created", human, nil)
	require.Equal(t, id, c.body.Data["issue"])
	s.Close()
	require.Empty(t, calls)
	require.Len(t, s.Deliveries(), 8)
}

func TestNothingIsSaidTwiceAfterAnAnswer(t *testing.T) {
	t.Parallel()
	s, p, at := open(t, planetest.Options{RetryWait: time.Nanosecond})
	calls := receive(t, s, func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) })
	addItem(t, s, p, "one", "d")
	require.Empty(t, next(t, calls).header.Get("X-Plane-Signature"), "a hook without a secret is not signed")
	require.NoError(t, settled(s, 1))
	require.Equal(t, 500, s.Deliveries()[0].Status)
	giveTime(t, at)
	addItem(t, s, p, "two", "d")
	require.Equal(t, "two", next(t, calls).name(), "the first one is not sent again")
	require.NoError(t, settled(s, 2))
	giveTime(t, at)
	require.Len(t, s.Deliveries(), 2)
}

// giveTime makes a few calls, in which what must not happen could happen.
func giveTime(t *testing.T, at string) {
	t.Helper()
	for range 20 {
		must(t, "GET", at+"/api/v1/users/me/", "")
	}
}

func TestBrokenConnectionsAreTriedAgain(t *testing.T) {
	t.Parallel()
	s, p, _ := open(t, planetest.Options{RetryWait: time.Millisecond})
	broken := 2
	calls := receive(t, s, func(w http.ResponseWriter) { // one at a time
		if broken--; broken >= 0 {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		}
	})
	addItem(t, s, p, "t", "d")
	a, b, c := next(t, calls), next(t, calls), next(t, calls)
	require.Equal(t, a.raw, b.raw)
	require.Equal(t, a.raw, c.raw)
	id := func(c call) string { return c.header.Get("X-Plane-Delivery") }
	require.True(t, id(a) != id(b) && id(b) != id(c) && id(a) != id(c), "a new id for each attempt")
	require.NoError(t, settled(s, 3))
	require.Equal(t, []int{0, 0, 200}, []int{s.Deliveries()[0].Status, s.Deliveries()[1].Status, s.Deliveries()[2].Status})
}

func TestAWebhookIsGivenUp(t *testing.T) {
	t.Parallel()
	s, p, _ := open(t, planetest.Options{RetryWait: time.Millisecond, HookURL: "http://127.0.0.1:1/"})
	addItem(t, s, p, "t", "d")
	require.NoError(t, settled(s, 6))
	s.Close()
	require.Len(t, s.Deliveries(), 6)
	require.Zero(t, s.Deliveries()[5].Status)
}

func TestLostDoubledReordered(t *testing.T) {
	t.Parallel()
	s, p, at := open(t)
	calls := receive(t, s, nil)
	add := func(name string, f fakehttp.Faults) {
		t.Helper()
		s.SetFaults(f)
		addItem(t, s, p, name, "d")
	}
	add("lost", fakehttp.Faults{HookLost: 1})
	add("doubled", fakehttp.Faults{HookDoubled: 1})
	a, b := next(t, calls), next(t, calls)
	require.Equal(t, []string{"doubled", "doubled"}, []string{a.name(), b.name()})
	require.NotEqual(t, a.header.Get("X-Plane-Delivery"), b.header.Get("X-Plane-Delivery"))
	require.Equal(t, a.raw, b.raw)
	require.NoError(t, settled(s, 2))

	add("earlier", fakehttp.Faults{HookReordered: 1, Hold: time.Hour})
	giveTime(t, at)
	add("later", fakehttp.Faults{})
	require.Equal(t, "later", next(t, calls).name())
	require.Equal(t, "earlier", next(t, calls).name())
	require.NoError(t, settled(s, 4))

	add("alone", fakehttp.Faults{HookReordered: 1, Hold: time.Millisecond})
	require.Equal(t, "alone", next(t, calls).name(), "when no other one comes, it is sent in the end")
	add("slow", fakehttp.Faults{HookDelay: 2 * time.Millisecond})
	require.Equal(t, "slow", next(t, calls).name())
}

// Close does not wait for webhooks that have a long way to go.
func TestClose(t *testing.T) {
	t.Parallel()
	s, p, _ := open(t, planetest.Options{RetryWait: time.Hour, HookURL: "http://127.0.0.1:1/"})
	s.SetFaults(fakehttp.Faults{HookReordered: 0.5, Hold: time.Hour})
	for range 20 {
		addItem(t, s, p, strings.Repeat("x", 10), "d")
	}
	s.Close()
	s.Close()
	_, err := s.AddItem(p, "after", "d")
	require.NoError(t, err, "the board still stands")
	require.LessOrEqual(t, len(s.Deliveries()), 20)
}

// settled waits until so many attempts are known.
func settled(s *planetest.Server, attempts int) error {
	for end := time.Now().Add(20 * time.Second); len(s.Deliveries()) < attempts; {
		if time.Now().After(end) {
			return io.ErrNoProgress
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}
