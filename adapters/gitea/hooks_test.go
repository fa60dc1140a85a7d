package gitea_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

func receiver(t testing.TB) *gitea.Client {
	t.Helper()
	return client(t, gitea.Options{BaseURL: "https://git.example.org", Secrets: signature.Of(secret)})
}

// hookFiles are payloads by name and event.
func hookFiles(t testing.TB) map[[2]string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/hooks/*.json")
	require.NoError(t, err)
	out := map[[2]string][]byte{}
	for _, file := range files {
		name, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), ".")
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		out[[2]string{name, event}] = body
	}
	return out
}

func TestDecode(t *testing.T) {
	t.Parallel()
	c := receiver(t)
	const branch = "feature/SHP-7-cart"
	gone := strings.Repeat("0", 40)
	status := func(state string, finished bool) githost.Hook {
		return githost.Hook{Kind: githost.HookCI, Action: "ci/unit", Repo: repo, SHA: head40, State: state, Finished: finished, Sender: "gitea-actions", Bot: true}
	}
	ci := func(action, branch, state string, finished bool) githost.Hook {
		return githost.Hook{Kind: githost.HookCI, Action: action, Repo: repo, SHA: head40, Branch: branch, State: state, Finished: finished, Sender: "kim"}
	}
	pull := func(kind, action, state, text string) githost.Hook {
		return githost.Hook{Kind: kind, Action: action, Repo: repo, Branch: branch, SHA: head40, Number: 12, State: state, Sender: "kim", Body: text}
	}
	pushed := func(sha, branch string) githost.Hook {
		return githost.Hook{Kind: githost.HookPush, Repo: repo, SHA: sha, Branch: branch, Sender: "kim"}
	}
	of := func(kind string) githost.Hook { return githost.Hook{Kind: kind, Repo: repo, Sender: "kim"} }
	merged := pull(githost.HookMerged, "closed", "closed", "")
	merged.MergeSHA = strings.Repeat("c3", 20)
	fork := pull(githost.HookPullRequest, "opened", "open", "")
	fork.Branch = ""
	comment := of(githost.HookComment)
	comment.Action, comment.Number, comment.Body = "created", 12, "please look"
	issue := comment
	issue.Kind = githost.HookOther
	want := map[string]githost.Hook{
		"status": status("passed", true), "status_pending": status("pending", false), "status_warning": status("passed", true), "status_error": status("failed", true),
		"opened": pull(githost.HookPullRequest, "opened", "open", ""), "synchronized": pull(githost.HookPush, "synchronized", "open", ""),
		"closed": pull(githost.HookPullRequest, "closed", "closed", ""), "merged": merged, "fork": fork,
		"approved": pull(githost.HookReview, "reviewed", "approved", ""), "rejected": pull(githost.HookReview, "reviewed", "changes_requested", "Race in the cart."),
		"commented": pull(githost.HookReview, "reviewed", "commented", "Why?"), "comment": comment, "issue": issue,
		"push": pushed(head40, branch), "push_deleted": pushed(gone, branch), "push_tag": pushed(head40, ""),
		"created": pushed(head40, branch), "created_tag": of(githost.HookOther), "deleted": pushed(gone, branch),
		"workflow_run": ci("completed", branch, "cancelled", true), "workflow_run_fork": ci("completed", "", "passed", true), "workflow_job": ci("in_progress", branch, "pending", false),
		"release": {Kind: githost.HookOther},
	}
	files := hookFiles(t)
	require.Len(t, files, len(want))
	for key, body := range files {
		expected := want[key[0]]
		expected.Event = key[1]
		got, err := c.Decode(key[1], body)
		require.NoError(t, err, key)
		require.Equal(t, expected, got, key)
		_, err = c.Decode(key[1], body[:len(body)/2])
		require.Error(t, err, key)
	}
}

// What an event always has must be there; what is not read may be anything.
func TestHalfAHook(t *testing.T) {
	t.Parallel()
	c := receiver(t)
	const of = `"repository":{"full_name":"acme/shop","size":"odd"},"sender":{"login":"kim","created":7}`
	for body, event := range map[string]string{
		`{"action":"closed","number":3,"pull_request":{"merged":true,"head":{"sha":"a"}},` + of + `}`:                           "pull_request", // no merge commit
		`{"action":"opened","pull_request":{},` + of + `}`:                                                                      "pull_request", // no number
		`{"action":"reviewed","review":{"type":"pull_request_review_approved"},"pull_request":{"number":1},` + of + `}`:         "pull_request_approved",
		`{"action":"reviewed","review":{"type":"pull_request_review_approved"},"pull_request":{"number":1,"head":{"sha":"a"}}}`: "pull_request_approved", // no repository
		`{"action":"created","is_pull":true,` + of + `}`:                                                                        "issue_comment",
		`{"state":"success",` + of + `}`:                                                                                        "status",
		`[]`:                                                                                                                    "push",
	} {
		_, err := c.Decode(event, []byte(body))
		require.Error(t, err, body)
	}
	h, err := c.Decode("pull_request_approved", []byte(`{"action":"reviewed","review":{"type":"pull_request_review_of_tomorrow"},"pull_request":{"number":1},`+of+`}`))
	require.NoError(t, err)
	require.Equal(t, githost.HookOther, h.Kind)
	h, err = c.Decode("pull_request", []byte(`{"action":"closed","pull_request":{"number":3,"merged":true,"merge_commit_sha":"m","head":{"sha":"a","label":"x","repo_id":4,"repo":null},"base":{"repo_id":4,"repo":{"id":"odd"}}},`+of+`}`))
	require.NoError(t, err)
	require.Equal(t, githost.Hook{Kind: githost.HookMerged, Event: "pull_request", Action: "closed", Repo: repo, SHA: "a", Branch: "x", Number: 3, MergeSHA: "m", Sender: "kim"}, h)
	h, err = c.Decode("unheard_of", []byte(`{"repository":7}`))
	require.NoError(t, err)
	require.Equal(t, githost.Hook{Kind: githost.HookOther, Event: "unheard_of"}, h)
	_, err = c.Decode("unheard_of", []byte(`{`))
	require.Error(t, err)
}

func TestSignature(t *testing.T) {
	t.Parallel()
	body := []byte(`{"zen":"x"}`)
	const good = "9c1cbf367262bfa438947512466d6195b85b28cfd040e1cf6b7b1081c4a3ec39"
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for pair := range slices.Chunk(pairs, 2) {
			h.Set(pair[0], pair[1])
		}
		return h
	}
	c := receiver(t)
	for _, h := range []http.Header{
		header("X-Gitea-Signature", good), header("X-Forgejo-Signature", good), header("X-Hub-Signature-256", "sha256="+good),
		header("X-Gitea-Signature", good, "X-Hub-Signature-256", "sha256="+good, "X-Hub-Signature", "sha1=9ac1053c5c7e1d30e0d7ed6fdf77f14980c58960"),
	} {
		require.True(t, forgekit.Passes(c, h, body), h)
		require.False(t, forgekit.Passes(c, h, append(body, ' ')), h)
	}
	for _, h := range []http.Header{
		{}, header("X-Hub-Signature", "sha1=9ac1053c5c7e1d30e0d7ed6fdf77f14980c58960"), header("X-Gitea-Signature", "", "X-Hub-Signature-256", "sha256="),
		header("X-Gitea-Signature", strings.Repeat("ab", 32), "X-Hub-Signature-256", "sha256="+good),
	} {
		require.False(t, forgekit.Passes(c, h, body), h)
	}
	h := header("X-Gitea-Signature", good)
	c.SetSecrets(signature.Of("another"))
	require.False(t, forgekit.Passes(c, h, body))
	c.SetSecrets(signature.Of("another", secret))
	require.True(t, forgekit.Passes(c, h, body))
	open := client(t, gitea.Options{BaseURL: "https://git.example.org", Insecure: true})
	require.True(t, forgekit.Passes(open, http.Header{}, body))
	c.SetSecrets(signature.Of(secret))
	forgekit.Proof(t, open, c)

	id, event := c.Delivery(header("X-Gitea-Delivery", "d1", "X-Gitea-Event", "pull_request_approved", "X-GitHub-Delivery", "d2", "X-GitHub-Event", "pull_request_review"))
	require.Equal(t, []string{"d1", "pull_request_approved"}, []string{id, event})
	id, event = c.Delivery(header("X-Forgejo-Delivery", "d3", "X-Forgejo-Event", "push"))
	require.Equal(t, []string{"d3", "push"}, []string{id, event})
}

// A push, CI, a review and a merge send signed webhooks that the client decodes.
func TestJourneyOfWebhooks(t *testing.T) {
	t.Parallel()
	k := setup(t, forgetest.Options{Forgejo: true, CI: forgekit.CI})
	hooks := forgekit.Journey(k.Kit, func(got <-chan forgekit.Delivered, approved forgekit.Delivered) {
		require.Equal(t, "pull_request_approved", approved.Hook.Event)
		require.Equal(t, "pull_request_review_approved", approved.Header.Get("X-Gitea-Event-Type"))
		require.Equal(t, approved.Header.Get("X-Gitea-Signature"), approved.Header.Get("X-Forgejo-Signature"))
		require.NoError(t, k.Server.Comment(repo, "feature/a", forgetest.LineComment{Author: "kim", Body: "please look"}))
		require.Equal(t, "please look", k.Next(got, forgekit.Kind(githost.HookComment, "")).Hook.Body)
		require.Equal(t, k.Commit("feature/a"), k.Next(got, func(h githost.Hook) bool { return h.Action == "synchronized" }).Hook.SHA)
	})
	require.NoError(t, k.client.DeleteBranch(t.Context(), repo, "feature/a"))
	k.Next(hooks, func(h githost.Hook) bool { return h.Event == "delete" && h.Branch == "feature/a" })
}

// Webhooks are lost and doubled; one that is sent again by hand has a new id.
func TestFaultsOfWebhooks(t *testing.T) {
	t.Parallel()
	forgekit.FaultsOfWebhooks(open(t), false)
}

func FuzzDecode(f *testing.F) {
	c := receiver(f)
	for key, body := range hookFiles(f) {
		f.Add(key[1], body)
	}
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		h, err := c.Decode(event, body)
		if err == nil && h.Kind != githost.HookOther && h.Repo == "" {
			t.Fatalf("half a hook: %+v", h)
		}
	})
}
