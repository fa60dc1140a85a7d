package github_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// What is not read of a webhook may be anything, and what can be read elsewhere is.
func TestHooksOfOthers(t *testing.T) {
	t.Parallel()
	c := client(t, github.Options{})
	const of = `"repository":{"full_name":"acme/shop","pushed_at":{"odd":1}},"sender":{"login":"kim","id":"x"}`
	for event, body := range map[string]string{
		"discussion": `{"answer":{"id":"x"},"discussion":{"number":"odd"},` + of + `}`, "package": `{"package":{"package_version":{"release":"odd"}},` + of + `}`,
	} {
		h, err := c.Decode(event, []byte(body))
		require.NoError(t, err, event)
		require.Equal(t, githost.HookOther, h.Kind)
	}
	h := decode(t, c, "check_run", []byte(`{"action":"rerequested","check_run":{"head_sha":"a","status":"queued","started_at":"yesterday","check_suite":{"head_branch":"x"}},`+of+`}`))
	require.Equal(t, githost.Hook{Kind: githost.HookCI, Event: "check_run", Action: "rerequested", Repo: repo, SHA: "a", Branch: "x", State: "pending", Sender: "kim"}, h)
	h = decode(t, c, "pull_request", []byte(`{"action":"closed","pull_request":{"number":3,"state":"closed","merged":true,"merge_commit_sha":"m","head":{"sha":"a","ref":"x","repo":null}},`+of+`}`))
	require.Equal(t, githost.Hook{Kind: githost.HookMerged, Event: "pull_request", Action: "closed", Repo: repo, SHA: "a", Number: 3, MergeSHA: "m", State: "closed", Sender: "kim"}, h)
}

// A repository that takes no merge commits is merged as it allows; a rule that only
// people can satisfy is said in GitHub's words, and is nothing for the developer.
func TestMergeByTheRules(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		words, allows, state string
		is                   error
		methods              []string
	}{
		{"Merge commits are not allowed on this repository.", `"allow_squash_merge":true,"allow_rebase_merge":true`, "clean", nil, []string{"merge", "squash"}},
		{"Merge commits are not allowed on this repository.", `"allow_rebase_merge":true`, "blocked", nil, []string{"merge", "rebase"}},
		{"Merge commits are not allowed on this repository.", `"name":"shop"`, "blocked", githost.ErrDenied, []string{"merge"}},
		{"Changes must be made through the merge queue", `"name":"shop"`, "blocked", githost.ErrDenied, []string{"merge"}},
		{"Pull Request is still a draft", `"allow_squash_merge":true`, "draft", githost.ErrDenied, []string{"merge"}},
		{"Something new", `"name":"shop"`, "has_hooks", githost.ErrDenied, []string{"merge"}},
		{"Pull Request is not mergeable", `"allow_squash_merge":true`, "dirty", githost.ErrNotMergeable, []string{"merge"}},
		{"Head branch is out of date", `"allow_squash_merge":true`, "behind", githost.ErrBehind, []string{"merge"}},
	} {
		var methods []string
		c := answering(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPut:
				var body struct {
					Method string `json:"merge_method"`
				}
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				if methods = append(methods, body.Method); body.Method != "merge" {
					fmt.Fprint(w, `{"sha":"landed","merged":true}`)
					return
				}
				w.WriteHeader(http.StatusMethodNotAllowed)
				fmt.Fprintf(w, `{"message":%q}`, k.words)
			case strings.HasSuffix(r.URL.Path, "/pulls/3"):
				fmt.Fprintf(w, `{"number":3,"state":"open","mergeable_state":%q,"draft":%t,"head":{"ref":"x","sha":"%s"}}`, k.state, k.state == "draft", head40)
			default:
				fmt.Fprintf(w, `{%s}`, k.allows)
			}
		})
		sha, err := c.Merge(t.Context(), third)
		require.Equal(t, k.methods, methods, k.words)
		if k.is == nil {
			require.NoError(t, err)
			require.Equal(t, "landed", sha)
			continue
		}
		require.ErrorIs(t, err, k.is, k.words)
		require.ErrorContains(t, err, k.words)
		require.False(t, fault.Retryable(err))
	}
}

// A merge that is refused with 422 may be made already.
func TestMerge422(t *testing.T) {
	t.Parallel()
	merged := true
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"message":"not now"}`)
			return
		}
		fmt.Fprintf(w, `{"number":3,"state":"closed","merged":%t,"merge_commit_sha":"landed","head":{"ref":"x","sha":"%s"}}`, merged, head40)
	})
	sha, err := c.Merge(t.Context(), third)
	require.NoError(t, err)
	require.Equal(t, "landed", sha)
	merged = false
	_, err = c.Merge(t.Context(), third)
	require.ErrorContains(t, err, "not now")
	moved := third
	moved.HeadSHA = strings.Repeat("b", 40)
	_, err = c.Merge(t.Context(), moved)
	require.ErrorIs(t, err, githost.ErrHeadMoved)
}

// Pages that lead back to themselves are an error, and soon.
func TestPagesWithoutEnd(t *testing.T) {
	t.Parallel()
	calls := 0
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.Header().Set("Link", `<http://`+r.Host+r.URL.Path+`?page=2>; rel="next"`)
		fmt.Fprint(w, `[{"id":1,"context":"s","state":"success"}]`)
	})
	_, err := c.Checks(t.Context(), repo, "main", head40)
	require.ErrorContains(t, err, "page 2 of a list leads to page 2")
	require.True(t, fault.Retryable(err))
	require.Equal(t, 2, calls)
}

// A method that is named is the one that is used, and one that the repository does not allow
// is for a person, with GitHub's words. What is squashed has the tree that was merged.
func TestMergeMethod(t *testing.T) {
	t.Parallel()
	k := setup(t)
	k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Methods = []string{"squash"} })
	for i, c := range []struct {
		method  githost.MergeMethod
		refused string
	}{{method: githost.MergeSquash}, {githost.MergeRebase, "Rebase merges are not allowed on this repository."}, {githost.MergeCommit, "Merge commits are not allowed"}, {}} {
		branch := fmt.Sprintf("feature/%d", i)
		head := k.Commit(branch)
		pr := k.Pull(branch)
		sha, err := k.client.Merge(t.Context(), githost.Merge{Repo: repo, Number: pr.Number, HeadSHA: head, Title: "T", Method: c.method})
		if c.refused != "" {
			require.ErrorIs(t, err, githost.ErrDenied)
			require.ErrorContains(t, err, c.refused)
			continue
		}
		require.NoError(t, err)
		require.Len(t, strings.Fields(gittest.Run(t, k.Bare, "rev-list", "--parents", "-n1", sha)), 2, "one parent")
		k.Git("checkout", "--quiet", "main")
		k.Git("pull", "--quiet", "origin", "main")
	}
}
