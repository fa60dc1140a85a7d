package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// Titles that mean something to a shell, to git, to a file system or to a screen
// are titles; the pipeline goes through with them.
func TestHostileTitles(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		titles := []string{
			"--upload-pack=touch /tmp/x", "../../../etc/passwd", "line\nfeed\r\n", "\u202egnp.exe\u202c", "🚦🧨", "'; drop table tasks; --", "$(id) `id` && id",
			"HEAD", "refs/heads/main", "<script>alert(1)</script>", "a..b~c^d:e?f*g[h\\i", ".lock", "-", "长标题", "x@{1}",
		}
		for n, title := range titles {
			id := string(rune('a' + n))
			r.Board.Put(tracker.Item{ID: id, ProjectID: App, Sequence: int64(n + 1), Title: title, Description: title + " d"})
			r.Set(id, stage.StatusToAnalyse)
		}
		r.Settle(2 * time.Minute)
		for n, title := range titles {
			task := r.Task(string(rune('a' + n)))
			require.Regexp(r, `^feature/APP-\d+-[a-z0-9-]+$`, task.Branch, title)
			require.Equal(r, stage.HoldApproval, task.State.Hold, title)
			require.Equal(r, title, task.Title, "the title itself is kept")
		}
	})
}

// A title of 10,000 characters is refused with the limit in the text; nothing is
// half made.
func TestTitleOfTenThousandCharacters(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Begin(strings.Repeat("ж", 10_000))
		r.Settle(10 * time.Second)
		require.Equal(r, stage.StatusBlocked, r.Status(App, item))
		require.True(r, r.Commented(App, item, "10000 characters, the limit is 200"))
		require.Empty(r, r.Place.Runs())
		require.Empty(r, r.Open())
	})
}

// An updated event carries only what has changed: the description is fetched.
func TestEmptyDescriptionAfterTheFetch(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.Board.Put(tracker.Item{ID: "i", ProjectID: App, Sequence: 1, Title: "t", Description: ""})
		r.Set("i", stage.StatusToAnalyse)
		r.Settle(10 * time.Second)
		require.True(r, r.Commented(App, "i", "the description is empty"))
		list, err := r.Board.List(context.Background(), tracker.Query{ProjectID: App, Statuses: []stage.Status{stage.StatusBlocked}})
		require.NoError(r, err)
		require.Len(r, list.Items, 1)
	})
}

// A comment links to what is there in the commit that the agent has left, and to nothing
// else.
func TestLinksToWhatIsThere(t *testing.T) {
	const docs = "https://git.example.org/acme/app/blob/"
	Run(t, nil, func(r *Rig) {
		r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			switch {
			case c.Role == stage.Architect && c.Run == 2: // writes nothing
				return work.Result{Kind: work.ResultOK}
			case c.Role == stage.Reviewer && c.Run == 5:
				files[work.ReportPath] = "---\nverdict: changes_requested\nsha: " + c.Env["SIGNALBOX_SHA"] + "\n---\n"
				return work.Result{Kind: work.ResultOK}
			case c.Role == stage.Reviewer && c.Run == 7: // reports nothing: the one in the branch is of run 5
				return work.Result{Kind: work.ResultOK}
			}
			return GoodAgent(ctx, c, files)
		})
		item := r.Finish("x")
		r.Settle(time.Minute)
		links := map[string]int{}
		for _, c := range r.Comments(App, item) {
			for _, part := range strings.FieldsFunc(c, func(c rune) bool { return c == ' ' || c == '\n' }) {
				if at, ok := strings.CutPrefix(part, docs); ok {
					sha, path, _ := strings.Cut(at, "/")
					links[path[strings.LastIndex(path, "/")+1:]]++
					tree, err := r.Place.Files(context.Background(), work.Workspace{Repo: AppRepo, Branch: r.Task(item).Branch}, sha)
					require.NoError(r, err)
					_, err = fs.Stat(tree, path)
					require.NoError(r, err, part)
				}
			}
		}
		require.Equal(r, map[string]int{
			"requirements.md": 1, "acceptance.md": 1, "design.md": 1, "review.md": 2, "test-report.md": 1, "staging-report.md": 1, "deploy-report.md": 1,
		}, links, "%v", r.Roles())
	})
}

// shy is a board on which the reviewer may not comment.
type shy struct{ *memtracker.Board }

func (s shy) AddComment(ctx context.Context, c tracker.NewComment) (string, error) {
	if c.Author == stage.Reviewer {
		return "", errors.New("plane: comments: exit status 1")
	}
	return s.Board.AddComment(ctx, c)
}

// What reaches people has no words of Go's and of this module's packages.
func TestErrorsInWords(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Host.FailCall("Merge", fmt.Errorf("github: merging: %w", githost.ErrDenied))
	}, func(r *Rig) {
		item := r.Finish("x")
		r.Waits(item, stage.HoldBlocked)
		said := append(r.Comments(App, item), r.Notices())
		require.True(r, contains(said, "Blocked: the merge failed: merging: not allowed (https://host.example.org/acme/app/pull/1).\nSee to that at the git host, then set In Progress"), said)
		require.True(r, contains(said, "deploy failure: merging: not allowed."), said)
	})
	Run(t, func(r *Rig) {
		r.Effects = func(d *effects.Deps) { d.Tracker = shy{r.Board} }
	}, func(r *Rig) {
		item := r.Finish("x")
		r.Settle(time.Hour)
		r.Stands(item, stage.Done)
		require.Contains(r, r.Notices(), "the comment could not be made and is given up: comments: exit code 1")
	})
}
