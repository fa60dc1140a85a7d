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
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// Titles that mean something to a shell, to git, to a file system or to a screen
// are titles; the pipeline goes through with them.
func TestHostileTitles(t *testing.T) {
	run(t, func(r *rig) {
		titles := []string{
			"--upload-pack=touch /tmp/x", "../../../etc/passwd", "line\nfeed\r\n", "\u202egnp.exe\u202c", "🚦🧨", "'; drop table tasks; --", "$(id) `id` && id",
			"HEAD", "refs/heads/main", "<script>alert(1)</script>", "a..b~c^d:e?f*g[h\\i", ".lock", "-", "长标题", "x@{1}",
		}
		for n, title := range titles {
			id := string(rune('a' + n))
			r.board.Put(tracker.Item{ID: id, ProjectID: appProject, Sequence: int64(n + 1), Title: title, Description: title + " d"})
			r.move(appProject, id, stage.StatusToAnalyse)
		}
		r.settle(2 * time.Minute)
		for n, title := range titles {
			task := r.task(string(rune('a' + n)))
			require.Regexp(r, `^feature/APP-\d+-[a-z0-9-]+$`, task.Branch, title)
			require.Equal(r, stage.HoldApproval, task.State.Hold, title)
			require.Equal(r, title, task.Title, "the title itself is kept")
		}
	})
}

// A title of 10,000 characters is refused with the limit in the text; nothing is
// half made.
func TestTitleOfTenThousandCharacters(t *testing.T) {
	run(t, func(r *rig) {
		item := r.card(appProject, strings.Repeat("ж", 10_000))
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		require.Equal(r, stage.StatusBlocked, r.status(appProject, item))
		require.True(r, contains(r.comments(appProject, item), "10000 characters, the limit is 200"))
		require.Empty(r, r.place.Runs())
		require.Empty(r, r.open())
	})
}

// An updated event carries only what has changed: the description is fetched.
func TestEmptyDescriptionAfterTheFetch(t *testing.T) {
	run(t, func(r *rig) {
		r.board.Put(tracker.Item{ID: "i", ProjectID: appProject, Sequence: 1, Title: "t", Description: ""})
		r.move(appProject, "i", stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		require.True(r, contains(r.comments(appProject, "i"), "the description is empty"))
		list, err := r.board.List(context.Background(), tracker.Query{ProjectID: appProject, Statuses: []stage.Status{stage.StatusBlocked}})
		require.NoError(r, err)
		require.Len(r, list.Items, 1)
	})
}

// A comment links to what is there in the commit that the agent has left, and to nothing
// else.
func TestLinksToWhatIsThere(t *testing.T) {
	const docs = "https://git.example.org/acme/app/blob/"
	run(t, func(r *rig) {
		r.place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			switch {
			case c.Role == stage.Architect && c.Run == 2: // writes nothing
				return work.Result{Kind: work.ResultOK}
			case c.Role == stage.Reviewer && c.Run == 5:
				files[work.ReportPath] = "---\nverdict: changes_requested\nsha: " + c.Env["SIGNALBOX_SHA"] + "\n---\n"
				return work.Result{Kind: work.ResultOK}
			case c.Role == stage.Reviewer && c.Run == 7: // reports nothing: the one in the branch is of run 5
				return work.Result{Kind: work.ResultOK}
			}
			return goodAgent(ctx, c, files)
		})
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		r.settle(time.Minute)
		links := map[string]int{}
		for _, c := range r.comments(appProject, item) {
			for _, part := range strings.FieldsFunc(c, func(c rune) bool { return c == ' ' || c == '\n' }) {
				if at, ok := strings.CutPrefix(part, docs); ok {
					sha, path, _ := strings.Cut(at, "/")
					links[path[strings.LastIndex(path, "/")+1:]]++
					tree, err := r.place.Files(context.Background(), work.Space{Repo: appRepo, Branch: r.task(item).Branch}, sha)
					require.NoError(r, err)
					_, err = fs.Stat(tree, path)
					require.NoError(r, err, part)
				}
			}
		}
		require.Equal(r, map[string]int{
			"requirements.md": 1, "acceptance.md": 1, "design.md": 1, "review.md": 2, "test-report.md": 1, "staging-report.md": 1, "deploy-report.md": 1,
		}, links, "%v", r.roles())
	})
}

// denies is a host that merges nothing, and says so as adapters do.
type denies struct{ *memhost.Host }

func (denies) Merge(context.Context, githost.Merge) (string, error) {
	return "", fmt.Errorf("github: merging: %w", githost.ErrDenied)
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
	runWith(t, func(r *rig) {
		r.around = func(d *effects.Deps) { d.Host = denies{r.host} }
	}, func(r *rig) {
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		require.Equal(r, stage.HoldBlocked, r.task(item).State.Hold)
		said := append(r.comments(appProject, item), r.notices())
		require.True(r, contains(said, "Blocked: the merge failed: merging: not allowed.\n"), said)
		require.True(r, contains(said, "deploy failure: merging: not allowed."), said)
	})
	runWith(t, func(r *rig) {
		r.around = func(d *effects.Deps) { d.Tracker = shy{r.board} }
	}, func(r *rig) {
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		r.settle(time.Hour)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		require.Contains(r, r.notices(), "the comment could not be made and is given up: comments: exit code 1")
	})
}
