package labelboard_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

func number(t *testing.T, id string) int {
	t.Helper()
	_, n := split(t, id)
	return n
}

// labels are the names of an issue's labels, in order.
func (d *double) labels(t *testing.T, id string) (out []string) {
	t.Helper()
	for _, l := range d.issues.Issue(repo, number(t, id)).Labels {
		out = append(out, l.Name)
	}
	slices.Sort(out)
	return out
}

// GitHub lets an issue have several labels of the board's: the one that was given last counts,
// and without a log, the later column. Setting a status leaves one, and all others.
func TestSeveralColumns(t *testing.T) {
	t.Parallel()
	c, d := setup(t, onGitHub, nil)
	d.columns(all()...)
	d.issues.AddLabel(repo, "bug")
	id := d.card("t", "d")
	for _, name := range []string{label(stage.StatusStop), "bug", label(stage.StatusApproved), label(stage.StatusInReview)} {
		require.NoError(t, d.issues.Label(repo, number(t, id), kim, name))
	}
	item, err := c.Item(t.Context(), repo, id)
	require.NoError(t, err)
	require.Equal(t, stage.StatusInReview, item.Status, "the newest")
	page := read(t, c.List, tracker.Query{ProjectID: repo, Statuses: []stage.Status{stage.StatusApproved, stage.StatusStop}})
	require.Empty(t, page.Items, "it stands elsewhere")

	d.fail(calls(d.kind)["LastMove"], faulttest.Final)
	item, err = c.Item(t.Context(), repo, id)
	require.NoError(t, err)
	require.Equal(t, stage.StatusStop, item.Status, "the later one of the pipeline")
	d.fail(calls(d.kind)["LastMove"], faulttest.Passing)
	_, err = c.Item(t.Context(), repo, id)
	require.True(t, fault.Retryable(err), "a log that is not there now is waited for")
	d.fail(calls(d.kind)["LastMove"], faulttest.None)

	require.NoError(t, c.SetStatus(t.Context(), repo, id, stage.StatusInReview))
	require.Equal(t, []string{label(stage.StatusInReview), "bug"}, d.labels(t, id))
}

// A label that is not there is not made by setting it, as GitHub would.
func TestNoColumnIsMade(t *testing.T) {
	inEach(t, func(t *testing.T, c *labelboard.Client, d *double) {
		d.columns(stage.StatusDone, stage.StatusBlocked)
		id := d.card("t", "d")
		require.NoError(t, c.SetStatus(t.Context(), repo, id, stage.StatusBlocked))
		d.issues.DeleteLabel(repo, label(stage.StatusBlocked))
		require.ErrorIs(t, c.SetStatus(t.Context(), repo, id, stage.StatusBlocked), tracker.ErrNoStatus)
		require.Len(t, d.issues.Labels(repo), 1)
	})
}

// The state of an issue follows the column that the service sets.
func TestDoneCloses(t *testing.T) {
	for _, kind := range kinds() {
		c, d := setup(t, kind, nil)
		id := d.onBoard("t", "d")
		isOpen := func() bool { return d.issues.Issue(repo, number(t, id)).Open }
		for range 2 {
			require.NoError(t, c.SetStatus(t.Context(), repo, id, stage.StatusDone))
			require.False(t, isOpen())
			item, err := c.Item(t.Context(), repo, id)
			require.NoError(t, err)
			require.True(t, item.Finished)
			require.NoError(t, c.SetStatus(t.Context(), repo, id, stage.StatusInReview))
			require.True(t, isOpen())
		}
		d.issues.SetOpen(repo, number(t, id), kim, false)
		item, err := c.Item(t.Context(), repo, id)
		require.NoError(t, err)
		require.Equal(t, []any{true, stage.StatusInReview}, []any{item.Finished, item.Status}, "a person has closed it")
	}
}

// Gitea closes no issue that waits for another: it is done all the same.
func TestDoneThoughItCannotBeClosed(t *testing.T) {
	t.Parallel()
	c, d := setup(t, onGitea, nil)
	d.columns(all()...)
	id, other := d.card("t", "d"), d.card("t", "d")
	d.issues.Block(repo, number(t, id), number(t, other))
	require.NoError(t, c.SetStatus(t.Context(), repo, id, stage.StatusDone))
	require.True(t, d.issues.Issue(repo, number(t, id)).Open)
	item, err := c.Item(t.Context(), repo, id)
	require.NoError(t, err)
	require.True(t, item.Finished)
	d.fail("PATCH /repos/{owner}/{repo}/issues/{number}", faulttest.Passing)
	require.True(t, fault.Retryable(c.SetStatus(t.Context(), repo, id, stage.StatusDone)), "what may pass is tried again")
}

// A comment changes an issue at the host and does not move it: else an approval would become newer than what it approves of.
func TestCommentsMoveNothing(t *testing.T) {
	for _, kind := range kinds() {
		at := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
		d := open(t, kind, func() time.Time { at = at.Add(time.Second); return at }) // called under the double's lock
		c := client(t, d.url, kind, nil)
		id := d.onBoard("t", "d")
		d.move(t, id, stage.StatusApproved)
		before, err := c.Item(t.Context(), repo, id)
		require.NoError(t, err)
		require.NoError(t, d.issues.Say(repo, number(t, id), kim, "a word"))
		d.issues.SetOpen(repo, number(t, id), kim, false)
		after, err := c.Item(t.Context(), repo, id)
		require.NoError(t, err)
		require.Equal(t, before.UpdatedAt, after.UpdatedAt)
		q := tracker.Query{ProjectID: repo, Statuses: []stage.Status{stage.StatusApproved}, Since: before.UpdatedAt}
		page := read(t, c.List, q)
		require.Equal(t, []tracker.Item{after}, page.Items)
		q.Since = q.Since.Add(time.Second)
		page = read(t, c.List, q)
		require.Empty(t, page.Items)
	}
}

// A listing has all pages, closed issues too, and no pull requests.
func TestLongList(t *testing.T) {
	inEach(t, func(t *testing.T, c *labelboard.Client, d *double) {
		d.columns(all()...)
		d.issues.SetPageMax(3)
		for n := range 10 {
			id := d.card("t", "d")
			d.move(t, id, stage.StatusApproved)
			d.issues.SetOpen(repo, number(t, id), kim, n%2 == 0)
		}
		for _, statuses := range [][]stage.Status{nil, {stage.StatusApproved, stage.StatusRejected}} {
			require.Len(t, read(t, c.List, tracker.Query{ProjectID: repo, Statuses: statuses}).Items, 10)
		}
		columns, err := c.Columns(t.Context(), repo)
		require.NoError(t, err)
		require.Len(t, columns, len(all()))
	})
}

// The log of an issue is not read again while nothing has changed: issues stay at STOP for ever.
func TestListsAreCheap(t *testing.T) {
	t.Parallel()
	logs := 0
	issue := `{"number":1,"state":"open","updated_at":"2031-01-01T00:00:09Z","labels":[{"id":1,"name":"status/STOP"}]}`
	c := says(t, onGitHub, time.Now(), func(w http.ResponseWriter, r *http.Request) {
		text := "[" + issue + "]"
		switch {
		case strings.HasSuffix(r.URL.Path, "/events"):
			logs++
			text = `[{"id":1,"event":"labeled","actor":{"login":"kim"},"label":{"name":"status/STOP"},"created_at":"2031-01-01T00:00:00Z"}]`
		case strings.HasSuffix(r.URL.Path, "/labels"):
			text = `[{"id":1,"name":"status/STOP"}]`
		}
		_, _ = w.Write([]byte(text))
	})
	list := func() tracker.Item {
		page := read(t, c.List, tracker.Query{ProjectID: repo, Statuses: []stage.Status{stage.StatusStop}})
		require.Len(t, page.Items, 1)
		return page.Items[0]
	}
	first := list()
	require.Equal(t, first, list())
	require.Equal(t, 1, logs)
	issue = strings.Replace(issue, "00:09Z", "00:10Z", 1)
	require.Equal(t, first, list(), "a comment")
	require.Equal(t, 2, logs)
	issue = strings.Replace(issue, `"labels":[`, `"labels":[{"id":2,"name":"bug"},`, 1)
	list()
	require.Equal(t, 3, logs)
	issue = strings.ReplaceAll(issue, "STOP", "Done")
	page := read(t, c.List, tracker.Query{ProjectID: repo})
	require.Equal(t, stage.StatusDone, page.Items[0].Status)
	require.Equal(t, 3, logs, "nobody requests anything by it")
}

// A repository that has more issues and pull requests than can be listed has its board read.
func TestLargeRepository(t *testing.T) {
	t.Parallel()
	c := says(t, onGitHub, time.Now(), func(w http.ResponseWriter, r *http.Request) {
		rows := `[{"number":1,"labels":[{"id":1,"name":"status/Done"}]}]`
		switch {
		case strings.HasSuffix(r.URL.Path, "/labels"):
			rows = `[{"id":1,"name":"status/Done"}]`
		case r.URL.Query().Get("labels") == "":
			w.Header().Set("Link", `<http://x/?page=2>; rel="next"`)
		}
		_, _ = w.Write([]byte(rows))
	})
	require.Len(t, read(t, c.List, tracker.Query{ProjectID: repo, Placed: true}).Items, 1)
}

func TestAddColumn(t *testing.T) {
	inEach(t, func(t *testing.T, c *labelboard.Client, d *double) {
		d.issues.AddLabel(repo, "status/done")
		status, err := c.StatusOf(t.Context(), repo, "Blocked")
		require.NoError(t, err)
		require.Equal(t, stage.StatusUnknown, status)
		for _, s := range all() {
			require.NoError(t, c.AddColumn(t.Context(), repo, s))
			require.NoError(t, c.AddColumn(t.Context(), repo, s), "one that is there stays")
		}
		columns, err := c.Columns(t.Context(), repo)
		require.NoError(t, err)
		require.Equal(t, "done", columns[stage.StatusDone])
		require.Equal(t, "To Analyse", columns[stage.StatusToAnalyse])
		status, err = c.StatusOf(t.Context(), repo, " blocked ")
		require.NoError(t, err)
		require.Equal(t, stage.StatusBlocked, status)
		list := d.issues.Labels(repo)
		require.Len(t, list, len(all()))
		for _, l := range list {
			require.Equal(t, d.kind == onGitea, l.Exclusive, l.Name)
			require.True(t, strings.HasPrefix(l.Name, "status/"))
		}
		require.ErrorContains(t, c.AddColumn(t.Context(), repo, "lunch"), `there is no status "lunch"`)
		d.issues.DeleteLabel(repo, "status/done")
		d.fail("POST /repos/{owner}/{repo}/labels", faulttest.Final)
		var refused *labelboard.Error
		require.ErrorAs(t, c.AddColumn(t.Context(), repo, stage.StatusDone), &refused)
		require.Equal(t, http.StatusForbidden, refused.Status)
	})
}

func TestItemsThatAreNone(t *testing.T) {
	inEach(t, func(t *testing.T, c *labelboard.Client, d *double) {
		d.columns(all()...)
		for _, id := range []string{"", "1", "nothing", d.id(repo, 0), d.id(repo, -1), d.id(repo, 1) + "/labels", d.id(repo, 1) + "?x", d.id("acme/other", 1), d.id(repo, 7)} {
			_, err := c.Item(t.Context(), repo, id)
			require.ErrorIs(t, err, tracker.ErrNotFound, id)
			_, err = c.LastMove(t.Context(), repo, id)
			require.ErrorIs(t, err, tracker.ErrNotFound, id)
			require.ErrorIs(t, c.SetStatus(t.Context(), repo, id, stage.StatusDone), tracker.ErrNotFound, id)
			_, err = c.Comments(t.Context(), repo, id)
			require.ErrorIs(t, err, tracker.ErrNotFound, id)
			require.ErrorIs(t, c.SetComment(t.Context(), tracker.NewComment{ProjectID: repo, ItemID: id, Key: "k", Body: "b"}), tracker.ErrNotFound, id)
		}
		for _, project := range []string{"", "acme", "acme/a/b", "../x", "acme/..", "acme/none"} {
			_, err := c.List(t.Context(), tracker.Query{ProjectID: project})
			require.ErrorIs(t, err, tracker.ErrNotFound, project)
			_, err = c.Columns(t.Context(), project)
			require.ErrorIs(t, err, tracker.ErrNotFound, project)
		}
	})
}

// The page of an issue is not below the API.
func TestItemURL(t *testing.T) {
	for address, want := range map[string]string{
		"": "https://github.com/acme/shop/issues/7", "https://api.github.com/": "https://github.com/acme/shop/issues/7",
		"https://git.example.org/api/v3/": "https://git.example.org/acme/shop/issues/7",
	} {
		c := client(t, address, onGitHub, nil)
		require.Equal(t, want, c.ItemURL("acme/another", c.ItemID(repo, 7)))
		require.Equal(t, c.ItemID(repo, 7), c.ItemID("Acme/Shop", 7))
	}
	for _, address := range []string{"https://git.example.org/sub", "https://git.example.org/sub/api/v1/"} {
		c := client(t, address, onGitea, nil)
		require.Equal(t, "git.example.org/sub/acme/shop#7", c.ItemID(repo, 7))
		require.Equal(t, "https://git.example.org/sub/acme/shop/issues/7", c.ItemURL(repo, c.ItemID(repo, 7)))
	}
}

// A client of a host that signs in as an app has no issues for a board, whoever they are for.
func TestNewRefuses(t *testing.T) {
	_, err := labelboard.New(labelboard.Options{})
	require.ErrorContains(t, err, "Token is missing")
}
