package gitea_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// A repository is merged into in the first style that it allows.
func TestStyles(t *testing.T) {
	t.Parallel()
	for _, style := range []string{"merge", "squash", "rebase", "rebase-merge", "fast-forward-only"} {
		t.Run(style, func(t *testing.T) {
			t.Parallel()
			k := setup(t)
			k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Methods = []string{style} })
			m := k.Opened()
			sha, err := k.merge(m)
			require.NoError(t, err)
			require.Equal(t, k.Server.Heads(repo)["main"], sha)
			k.Git("fetch", "--quiet")
			parents := len(strings.Fields(k.Git("rev-list", "--parents", "-1", sha))) - 1
			require.Equal(t, map[string]int{"merge": 2, "squash": 1, "rebase": 1, "rebase-merge": 2, "fast-forward-only": 1}[style], parents)
			require.Equal(t, style == "rebase" || style == "fast-forward-only", sha == m.HeadSHA)
		})
	}
}

// Where only a fast-forward is allowed, a branch that lacks commits of its base has to
// take them over first: Gitea has an internal error for that.
func TestNotForward(t *testing.T) {
	t.Parallel()
	k := setup(t)
	k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Methods = []string{"fast-forward-only"} })
	m := k.Opened()
	k.Git("checkout", "--quiet", "main")
	k.Write("other.txt", "x")
	_, err := k.merge(m)
	require.ErrorIs(t, err, githost.ErrBehind)
	require.ErrorIs(t, err, githost.ErrNotMergeable)
	require.False(t, fault.Retryable(err))
}

// A rule that only people can satisfy is refused in Gitea's words.
func TestMergeAgainstTheRules(t *testing.T) {
	t.Parallel()
	k := setup(t)
	m := k.Opened()
	merge := func() error {
		_, err := k.merge(m)
		return err
	}
	for words, change := range map[string]func(*forgetest.Settings){
		"User not allowed to merge PR":                                    func(s *forgetest.Settings) { s.Push = false },
		"Not all required status checks successful":                       func(s *forgetest.Settings) { s.Required["main"] = []string{"ci / *"} },
		"Does not have enough approvals":                                  func(s *forgetest.Settings) { s.Required["main"], s.Approvals = nil, 1 },
		"merge is not allowed an allowed merge style for this repository": func(s *forgetest.Settings) { s.Methods = nil },
		"repo.archive.title":                                              func(s *forgetest.Settings) { s.Archived = true },
	} {
		k.Server.SetSettings(repo, func(s *forgetest.Settings) {
			*s = forgetest.Settings{Push: true, Methods: []string{"merge"}, Required: map[string][]string{}}
			change(s)
		})
		err := merge()
		require.ErrorIs(t, err, githost.ErrDenied, words)
		require.ErrorContains(t, err, words)
		require.False(t, fault.Retryable(err), words)
	}
	k.Server.SetSettings(repo, func(s *forgetest.Settings) {
		*s = forgetest.Settings{Push: true, Methods: []string{"merge"}, Required: map[string][]string{"main": {"ci / *"}}, Approvals: 1}
	})
	k.Server.SetRole("kim", "write")
	require.NoError(t, k.Server.Review(repo, "feature/a", "kim", "APPROVED", "", ""))
	k.Server.SetStatus(repo, m.HeadSHA, "ci / unit", "success")
	require.NoError(t, merge())
}

// That the branches have yet to be compared passes; that they conflict does not, and Gitea
// shows no difference.
func TestConflictByTime(t *testing.T) {
	t.Parallel()
	k := setup(t)
	head := k.Conflict("feature/a")
	m := githost.Merge{Repo: repo, Number: k.Pull("feature/a").Number, HeadSHA: head, Title: "T"}
	for range 2 {
		_, err := k.merge(m)
		require.True(t, fault.Retryable(err), "%v", err)
		require.Positive(t, fault.After(err))
	}
	k.Clock.Add(int64(time.Minute))
	_, err := k.merge(m)
	require.ErrorIs(t, err, githost.ErrNotMergeable)
	require.ErrorContains(t, err, "it conflicts with main")
	k.Git("checkout", "--quiet", "main")
	k.Write("other.txt", "main has moved")
	_, err = k.merge(m)
	require.True(t, fault.Retryable(err), "other branches: they are compared anew")
}

// What a merge's refusal means is looked up in the pull request.
func TestRefusedMerge(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("b2", 20)
	open, merged := `"state":"open","mergeable":true,"merged":false`, `"state":"closed","merged":true,"merge_commit_sha":"landed"`
	for name, k := range map[string]struct {
		status       int
		words, state string
		head         string
		sha          string
		is           error
		again        bool
	}{
		"merged already, without a word":  {status: 405, state: merged, head: head40, sha: "landed"},
		"merged already, and moved since": {status: 409, words: "head out of date", state: merged, head: other, sha: "landed"},
		"merged, says a server's 422":     {status: 422, state: merged, head: head40, sha: "landed"},
		"answered by a proxy's error":     {status: 502, state: merged, head: head40, sha: "landed"},
		"closed":                          {status: 404, state: `"state":"closed","merged":false`, head: head40, is: githost.ErrDenied},
		"head moved":                      {status: 409, words: "head out of date", state: open, head: other, is: githost.ErrHeadMoved},
		"head moved, says only the error": {status: 409, words: "head out of date", state: open, head: head40, is: githost.ErrHeadMoved},
		"head moved, says only the pull":  {status: 405, words: "Please try again later", state: open, head: other, is: githost.ErrHeadMoved},
		"conflict":                        {status: 409, state: open, head: head40, is: githost.ErrNotMergeable},
		"base moved":                      {status: 409, words: "merge push out of date", state: open, head: head40, again: true},
		"a hook of the server":            {status: 409, words: "PushRejected with remote message: no", state: open, head: head40, is: githost.ErrDenied},
		"compared by now":                 {status: 405, words: "Please try again later", state: open, head: head40, again: true},
		"behind":                          {status: 405, words: "in other words", state: open + `,"merge_base":"old"`, head: head40, is: githost.ErrBehind},
		"policy":                          {status: 405, words: "Changed protected files", state: open, head: head40, is: githost.ErrDenied},
		"a bad request":                   {status: 422, words: "what?", state: open, head: head40},
		"an error":                        {status: 500, state: open, head: head40, again: true},
		"an error, and moved":             {status: 500, state: open, head: other, again: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := answering(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					w.WriteHeader(k.status)
					fmt.Fprintf(w, `{"message":%q}`, k.words)
					return
				}
				fmt.Fprintf(w, `{"number":3,%s,"head":{"label":"x","sha":"%s"}}`, k.state, k.head)
			})
			sha, err := c.Merge(t.Context(), third)
			require.Equal(t, k.sha, sha)
			if k.sha != "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, k.words)
			require.Equal(t, k.again, fault.Retryable(err), "%v", err)
			for _, sentinel := range []error{githost.ErrHeadMoved, githost.ErrDenied, githost.ErrNotMergeable} {
				require.Equal(t, errors.Is(k.is, sentinel), errors.Is(err, sentinel), "%v", err)
			}
		})
	}
}

// When the look at the pull request fails too, nothing is known; and a merge without a
// head is never sent.
func TestMergeUnknown(t *testing.T) {
	t.Parallel()
	var sent []map[string]any
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			var in map[string]any
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				t.Error(err)
			}
			sent = append(sent, in)
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.WriteHeader(http.StatusBadGateway)
	})
	_, err := c.Merge(t.Context(), githost.Merge{Repo: repo, Number: 3, HeadSHA: head40, Title: "T"})
	require.True(t, fault.Retryable(err))
	require.NotErrorIs(t, err, githost.ErrDenied)
	require.Equal(t, []map[string]any{{"Do": "merge", "MergeTitleField": "T", "head_commit_id": head40, "delete_branch_after_merge": false}}, sent)
	_, err = c.Merge(t.Context(), githost.Merge{Repo: repo, Number: 3})
	require.ErrorIs(t, err, githost.ErrHeadMoved)
	require.Len(t, sent, 1)
}

// Which styles are allowed may be hidden for a while: that is no refusal for good.
func TestStylesUnknown(t *testing.T) {
	t.Parallel()
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
			fmt.Fprint(w, `{"message":"merge is not allowed an allowed merge style for this repository"}`)
		case strings.HasSuffix(r.URL.Path, "/pulls/3"):
			fmt.Fprintf(w, `{"number":3,"state":"open","head":{"sha":"%s"}}`, head40)
		default:
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	_, err := c.Merge(t.Context(), third)
	require.True(t, fault.Retryable(err), "%v", err)
}

// A merge whose answer never comes is found, not made again.
func TestTimeOut(t *testing.T) {
	t.Parallel()
	k := setup(t)
	hurried := client(t, gitea.Options{BaseURL: k.URL, HTTPClient: forgekit.HTTP(200 * time.Millisecond)})
	var e *gitea.Error
	require.ErrorAs(t, forgekit.TimeOut(k.Kit, hurried, 4), &e) // the merge, and the look at it three times
	require.Zero(t, e.Status)
}

// A method that is named is the one that is used, and one that the repository does not allow is
// for a person.
func TestMergeMethod(t *testing.T) {
	t.Parallel()
	k := setup(t)
	k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Methods = []string{"merge", "squash"} })
	m := k.Opened()
	m.Method = githost.MergeRebase
	_, err := k.merge(m)
	require.ErrorIs(t, err, githost.ErrDenied)
	require.ErrorContains(t, err, "merge style")
	m.Method = githost.MergeSquash
	sha, err := k.merge(m)
	require.NoError(t, err)
	require.Len(t, strings.Fields(gittest.Run(t, k.Bare, "rev-list", "--parents", "-n1", sha)), 2, "one parent")
}
