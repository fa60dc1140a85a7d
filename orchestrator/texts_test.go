package orchestrator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
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
