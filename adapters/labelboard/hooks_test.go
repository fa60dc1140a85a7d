package labelboard_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// about is a payload of a webhook, as far as it is read.
func about(action, sender, more string, labels ...string) string {
	list := ""
	for i, l := range labels {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprintf(`{"id":%d,"name":%q}`, i+1, l)
	}
	return fmt.Sprintf(`{"action":%q,"issue":{"number":7,"updated_at":"2031-02-03T04:05:06Z","pull_request":null,"labels":[%s]},"repository":{"full_name":"acme/shop"},"sender":{"login":%q,"full_name":"Kim"}%s}`,
		action, list, sender, more)
}

func TestDecode(t *testing.T) {
	t.Parallel()
	c, d := setup(t, onGitHub, nil)
	at := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	hook := func(kind, event string, change func(*tracker.Hook)) tracker.Hook {
		h := tracker.Hook{Kind: kind, Event: event, ProjectID: repo, ItemID: d.id(repo, 7), ActorID: kim, Actor: tracker.Person{ID: kim, Name: "Kim"}, At: at}
		if change != nil {
			change(&h)
		}
		return h
	}
	other := func(event string) tracker.Hook { return tracker.Hook{Kind: tracker.HookOther, Event: event} }
	unsaid := func(h *tracker.Hook) { h.Status, h.Proof = true, stage.ProofNone }
	const comment = `,"comment":{"id":3,"body":"looks <!-- x -->good","updated_at":"2031-02-03T04:05:06Z","user":{"login":"kim"}}`
	for _, c2 := range []struct {
		event, body string
		want        tracker.Hook
	}{
		{"issues", about("opened", kim, ""), hook(tracker.HookItemCreated, "issues.opened", nil)},
		{"issues", about("labeled", kim, `,"label":{"id":1,"name":"Status/To analyse"}`), hook(tracker.HookItemUpdated, "issues.labeled", func(h *tracker.Hook) { h.Status, h.To, h.Word = true, "To analyse", stage.StatusToAnalyse })},
		{"issues", about("labeled", kim, `,"label":{"id":1,"name":"bug"}`, "status/Approved"), hook(tracker.HookItemUpdated, "issues.labeled", nil)},
		{"issues", about("unlabeled", kim, `,"label":{"id":1,"name":"status/Rejected"}`, "status/Approved"), hook(tracker.HookItemUpdated, "issues.unlabeled", unsaid)},
		{"issues", about("labeled", d.self, `,"label":{"id":1,"name":"status/Done"}`), hook(tracker.HookItemUpdated, "issues.labeled", func(h *tracker.Hook) {
			h.Status, h.To, h.Word, h.Self, h.ActorID, h.Actor.ID = true, "Done", stage.StatusDone, true, d.self, d.self
		})},
		{"issues", about("closed", kim, ""), hook(tracker.HookItemUpdated, "issues.closed", nil)},
		{"issues", about("reopened", kim, ""), hook(tracker.HookItemUpdated, "issues.reopened", nil)},
		{"issues", about("edited", kim, ""), hook(tracker.HookItemUpdated, "issues.edited", nil)},
		{"issues", about("deleted", kim, ""), hook(tracker.HookItemRemoved, "issues.deleted", nil)},
		{"issues", about("transferred", kim, ""), hook(tracker.HookItemRemoved, "issues.transferred", nil)},
		{"issue_label", about("label_updated", kim, "", "status/Approved"), hook(tracker.HookItemUpdated, "issue_label.label_updated", unsaid)},
		{"issue_label", about("label_cleared", kim, ""), hook(tracker.HookItemUpdated, "issue_label.label_cleared", unsaid)},
		{"issue_label", about("label_updated", kim, "", "bug", "status/STOP"), hook(tracker.HookItemUpdated, "issue_label.label_updated", func(h *tracker.Hook) { h.Status, h.To, h.Word = true, "STOP", stage.StatusStop })},
		{"issue_assign", about("assigned", kim, ""), hook(tracker.HookItemUpdated, "issue_assign.assigned", nil)},
		{"issue_comment", about("created", kim, comment), hook(tracker.HookComment, "issue_comment.created", func(h *tracker.Hook) { h.Body = "looks good" })},
		{"issue_comment", about("deleted", kim, comment), other("issue_comment.deleted")},
		{"issue_comment", about("created", kim, comment+`,"is_pull":true`), other("issue_comment.created")},
		{"issue_comment", `{"action":"created","issue":{"number":7,"pull_request":{"url":"x"}},"repository":{"full_name":"acme/shop"}}`, other("issue_comment.created")},
		{"issues", `{"action":"labeled","issue":{"number":7,"pull_request":{"url":"x"}},"label":{"name":"status/Done"},"repository":{"full_name":"acme/shop"}}`, other("issues.labeled")},
		{"pull_request_comment", about("created", kim, comment), other("pull_request_comment")},
		{"ping", `{"zen":"x"}`, other("ping")}, {"push", `[]`, other("push")},
	} {
		got, err := c.Decode(c2.event, []byte(c2.body))
		require.NoError(t, err, c2.body)
		require.Equal(t, c2.want, got, c2.body)
	}
	for _, bad := range []string{`[]`, `"x"`, `{"issue":7}`, ``, `{"action":"opened"}`, `{"action":"opened","issue":{"number":7}}`, `{"action":"opened","repository":{"full_name":"acme/shop"}}`} {
		_, err := c.Decode("issues", []byte(bad))
		require.Error(t, err, bad)
	}
	_, err := c.Decode("ping", []byte(`{`))
	require.Error(t, err)
}

// Before it is known who is the service, nobody is.
func TestUnsignedHook(t *testing.T) {
	t.Parallel()
	c, err := labelboard.New(labelboard.Options{Issues: issues(t, onGitea, "https://git.example.org", token, nil, nil), Insecure: true})
	require.NoError(t, err)
	h, err := c.Decode("issue_comment", []byte(about("created", kim, "")))
	require.NoError(t, err)
	require.True(t, h.Unsigned)
	require.False(t, h.Self, "nobody is known yet")
}

func TestSignature(t *testing.T) {
	t.Parallel()
	body := []byte(`{"action": "labeled"}`)
	c, _ := setup(t, onGitHub, func(o *labelboard.Options) { o.Secrets = signature.Of("k") })
	// printf '{"action": "labeled"}' | openssl dgst -sha256 -hmac k
	const right = "sha256=e694139ca038929b6fef93c283db4d4f4e0bdf30ccce74d4d2278d1f6d1f2fe4"
	passes := func(c *labelboard.Client, given string, body []byte) bool {
		check, err := c.Signature(http.Header{"X-Hub-Signature-256": {given}})
		if err != nil {
			require.ErrorIs(t, err, signature.ErrMissing)
			return false
		}
		_, _ = check.Write(body)
		return check.Passed()
	}
	require.True(t, passes(c, right, body))
	require.False(t, passes(c, right, append(body, ' ')))
	for _, bad := range []string{"", "sha256=", right[7:], "sha1=" + right[7:], right[:40], right + "00", "sha256=zz"} {
		require.False(t, passes(c, bad, body), bad)
	}
	c.SetSecrets(signature.Of("another"))
	require.False(t, passes(c, right, body))
	c.SetSecrets(nil)
	require.False(t, passes(c, right, body), "no secret lets nobody in")
	open, _ := setup(t, onGitHub, func(o *labelboard.Options) { o.Secrets, o.Insecure = nil, true })
	require.True(t, passes(open, "", body))
}

// Gitea's finer name of an event goes before those that it has from GitHub.
func TestDelivery(t *testing.T) {
	c, err := labelboard.New(labelboard.Options{Issues: issues(t, onGitHub, "", token, nil, nil)})
	require.NoError(t, err)
	h := http.Header{}
	h.Set("X-GitHub-Delivery", "1")
	h.Set("X-GitHub-Event", "issues")
	require.Positive(t, c.Habits().Limit)
	require.Less(t, c.Habits().Hold, 10*time.Second)
	id, event := c.Delivery(h)
	require.Equal(t, []string{"1", "issues"}, []string{id, event})
	h.Set("X-Gitea-Delivery", "2")
	h.Set("X-Gitea-Event", "issues")
	h.Set("X-Gitea-Event-Type", "issue_label")
	id, event = c.Delivery(h)
	require.Equal(t, []string{"2", "issue_label"}, []string{id, event})
}
