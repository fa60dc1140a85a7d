// Package trackertest is the conformance suite of package tracker.
package trackertest

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Fixture is a tracker under test and the board behind it. The board's clock
// must have moved on between any two changes.
type Fixture struct {
	Tracker interface {
		tracker.Tracker
		tracker.Accounts
		tracker.Board
	} // what it is besides (Log, People, Editor, Relations, Recent, Receiver) is tried, or skipped by name
	// NewProject makes a project with the columns of the given statuses; "" where a board has others
	// than these and cannot have them alone.
	NewProject func(columns ...stage.Status) string
	// NewItem makes an item in the project's first column; the description has
	// no markup.
	NewItem func(project, title, description string) string
	// Move and Say act as a person, whom the tracker describes as Person.
	Move   func(item string, to stage.Status)
	Say    func(item, text string)
	Person tracker.Person
	// Attach puts a file on an item; nil where the tracker has none.
	Attach func(item, name string, body []byte)
	// TitleMax is the tracker's own limit of titles, in characters; 0 = none that matters.
	TitleMax int
	// Fail makes one call of the port, called as its method, fail from now on.
	Fail func(call string, how faulttest.Kind)
	Edges
}

// part returns a port that not every tracker has; without it the test is skipped, by its name.
func part[T any](t *testing.T, f Fixture) T {
	t.Helper()
	p, ok := f.Tracker.(T)
	if !ok {
		t.Skipf("the tracker is no %s", reflect.TypeFor[T]())
	}
	return p
}

// project makes one with some columns alone.
func (f Fixture) project(t *testing.T, columns ...stage.Status) string {
	t.Helper()
	p := f.NewProject(columns...)
	if p == "" {
		t.Skip("the columns of the board cannot be chosen (Fixture.NewProject)")
	}
	return p
}

// all lists every logical status.
func all() []stage.Status {
	var out []stage.Status
	for _, s := range stage.Statuses() {
		out = append(out, s.Key)
	}
	return out
}

// Run runs the whole suite.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Fixture){
		"an item is read as it is":             reads,
		"statuses are set and read back":       statuses,
		"a missing column falls back":          fallbacks,
		"confirm deploy never falls back":      failsClosed,
		"a comment is posted once":             comments,
		"a comment is brought up to date":      edits,
		"and once by many at the same time":    commentsAtOnce,
		"what does not exist is not found":     notFound,
		"items are listed newest first":        lists,
		"the columns of a project are listed":  columns,
		"the log tells who has moved an item":  moves,
		"accounts are described":               people,
		"an id names one item of all projects": apart,
		"columns follow the rule of fallbacks": resolves,
		"a limit names when to come again":     refuses,
		"prerequisites are listed":             relates,
		"labels are read":                      labels,
		"files are listed and read":            files,
		"an item is made and removed":          makes,
		"only a move moves an item":            stays,
		"webhooks are verified and decoded":    receives,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
	t.Run("a call that fails says how, and nothing else fails", func(t *testing.T) { faults(t, open) })
}

// card makes an item in a project with all columns.
func (f Fixture) card() (project, id string) {
	project = f.NewProject(all()...)
	return project, f.NewItem(project, "t", "d")
}

func (f Fixture) item(t *testing.T, project, id string) tracker.Item {
	t.Helper()
	item, err := f.Tracker.Item(t.Context(), project, id)
	require.NoError(t, err)
	return item
}

func reads(t *testing.T, f Fixture) {
	p := f.NewProject(all()...)
	title := strings.Repeat("длинный 🚦 \u202e عنوانطول", 500) // 10,000 characters
	require.Equal(t, 10_000, utf8.RuneCountInString(title))
	if f.TitleMax > 0 {
		title = strings.TrimSpace(string([]rune(title)[:f.TitleMax]))
	}
	id := f.NewItem(p, title, "Tiles are slow & old")
	item := f.item(t, p, id)
	require.Equal(t, title, item.Title)
	require.Equal(t, "Tiles are slow & old", item.Description)
	require.Equal(t, []string{id, p}, []string{item.ID, item.ProjectID})
	require.False(t, item.UpdatedAt.IsZero())
}

func statuses(t *testing.T, f Fixture) {
	p, id := f.card()
	for _, s := range all() {
		require.NoError(t, f.Tracker.SetStatus(t.Context(), p, id, s))
		require.NoError(t, f.Tracker.SetStatus(t.Context(), p, id, s), "setting it again")
		item := f.item(t, p, id)
		require.Equal(t, s, item.Status)
		require.NotEmpty(t, item.StatusName)
	}
	if last, ok := f.Tracker.(tracker.Recent); ok {
		require.NoError(t, f.Tracker.SetStatus(t.Context(), p, id, stage.StatusBlocked))
		if item, ok := last.Recent(p, id); ok {
			seen := []any{item.Status, item.ID, item.ProjectID}
			require.Equal(t, []any{stage.StatusBlocked, id, p}, seen, "what was written is what was seen")
		}
		_, ok = last.Recent(p, nothing)
		require.False(t, ok)
	}
	f.Move(id, stage.StatusApproved)
	item := f.item(t, p, id)
	require.Equal(t, stage.StatusApproved, item.Status)
}

func fallbacks(t *testing.T, f Fixture) {
	p := f.project(t, stage.StatusToAnalyse, stage.StatusInProgress, stage.StatusDone)
	id := f.NewItem(p, "t", "d")
	for set, want := range map[stage.Status]stage.Status{
		stage.StatusCodeReview: stage.StatusInProgress, // by way of In Review
		stage.StatusAnalysis:   stage.StatusInProgress,
		stage.StatusMonitoring: stage.StatusDone,
	} {
		require.NoError(t, f.Tracker.SetStatus(t.Context(), p, id, set))
		item := f.item(t, p, id)
		require.Equal(t, want, item.Status, "the item is where it is, not where it was meant to be")
	}
	require.ErrorIs(t, f.Tracker.SetStatus(t.Context(), p, id, stage.StatusBlocked), tracker.ErrNoStatus)
}

// failsClosed also proves that nothing is written where nothing can be.
func failsClosed(t *testing.T, f Fixture) {
	var columns []stage.Status
	for _, s := range all() {
		if s != stage.StatusConfirmDeploy {
			columns = append(columns, s)
		}
	}
	p := f.project(t, columns...)
	id := f.NewItem(p, "t", "d")
	before := f.item(t, p, id)
	require.ErrorIs(t, f.Tracker.SetStatus(t.Context(), p, id, stage.StatusConfirmDeploy), tracker.ErrNoStatus)
	after := f.item(t, p, id)
	require.Equal(t, before, after)
}

func moves(t *testing.T, f Fixture) {
	log := part[tracker.Log](t, f)
	p, id := f.card()
	last := func() (tracker.Move, stage.Status) {
		m, err := log.LastMove(t.Context(), p, id)
		require.NoError(t, err)
		require.False(t, m.At.IsZero())
		to, err := f.Tracker.StatusOf(t.Context(), p, m.To)
		require.NoError(t, err)
		return m, to
	}
	made, _ := last()
	require.Equal(t, f.Person.ID, made.ActorID, "who has made it has put it where it is")
	require.Empty(t, made.To)
	f.Move(id, stage.StatusInReview)
	m, to := last()
	require.Equal(t, f.Person.ID, m.ActorID)
	require.Equal(t, stage.StatusInReview, to)
	require.NoError(t, f.Tracker.SetStatus(t.Context(), p, id, stage.StatusApproved))
	_, err := f.Tracker.AddComment(t.Context(), tracker.NewComment{ProjectID: p, ItemID: id, Key: "k", Body: "b"})
	require.NoError(t, err)
	m, to = last()
	require.Equal(t, stage.StatusApproved, to)
	own, err := f.Tracker.Own(m.ActorID)
	require.NoError(t, err)
	require.True(t, own, "the service's own move is named as its own")
	f.Move(id, stage.StatusRejected)
	f.Move(id, stage.StatusApproved)
	m, to = last()
	require.Equal(t, stage.StatusApproved, to)
	require.Equal(t, f.Person.ID, m.ActorID)
	var before []stage.Status // what is overwritten is found there
	for _, e := range m.Earlier {
		to, err := f.Tracker.StatusOf(t.Context(), p, e.To)
		require.NoError(t, err)
		require.False(t, e.At.After(m.At))
		if to != stage.StatusUnknown {
			before = append(before, to)
		}
	}
	require.Equal(t, []stage.Status{stage.StatusRejected, stage.StatusApproved, stage.StatusInReview}, before)
	_, err = log.LastMove(t.Context(), p, nothing)
	require.True(t, errors.Is(err, tracker.ErrNotFound) || errors.Is(err, tracker.ErrNoLog), "%v", err)
}

func people(t *testing.T, f Fixture) {
	people, project := part[tracker.People](t, f), f.NewProject(all()...)
	p, err := people.Person(t.Context(), project, f.Person.ID)
	require.NoError(t, err)
	require.Equal(t, f.Person, p)
	_, err = people.Person(t.Context(), project, "nobody")
	require.ErrorIs(t, err, tracker.ErrNotFound)
}

func comments(t *testing.T, f Fixture) {
	p, id := f.card()
	f.Say(id, "please")
	n := tracker.NewComment{ProjectID: p, ItemID: id, Author: stage.Reviewer, Key: "7/3/0", Body: "one\ntwo <b> & three"}
	first, err := f.Tracker.AddComment(t.Context(), n)
	require.NoError(t, err)
	second, err := f.Tracker.AddComment(t.Context(), n)
	require.NoError(t, err)
	require.Equal(t, first, second)
	n.Key, n.Note = "7/3/1", "a < b"
	n.Links = []tracker.Link{{Name: "plan.md", URL: "https://git.example.org/x?a=b&c=\"d\""}}
	_, err = f.Tracker.AddComment(t.Context(), n)
	require.NoError(t, err)
	list, err := f.Tracker.Comments(t.Context(), p, id)
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, []bool{false, true, true}, []bool{list[0].Own, list[1].Own, list[2].Own})
	for _, c := range list {
		own, err := f.Tracker.Own(c.AuthorID)
		require.NoError(t, err)
		require.True(t, own || !c.Own || c.AuthorID == "", "the account says the same; a person may use it too")
	}
	own, err := f.Tracker.Own("")
	require.NoError(t, err)
	require.False(t, own, "nobody is not ourselves")
	require.Equal(t, "please", list[0].Body)
	require.Contains(t, list[1].Body, "& three")
	for _, part := range []string{"one", "plan.md", "a < b"} { // a link by its name, or its address too
		require.Contains(t, list[2].Body, part)
	}
	require.Equal(t, "one\ntwo <b> & three", list[1].Body)
}

// edits keeps one comment under its key, and leaves the others as they are.
func edits(t *testing.T, f Fixture) {
	editor := part[tracker.Editor](t, f)
	p, id := f.card()
	n := tracker.NewComment{ProjectID: p, ItemID: id, Author: stage.Stream, Key: "waits/7", Body: "Waits for <GPX-1>."}
	require.NoError(t, editor.SetComment(t.Context(), n))
	fine := tracker.NewComment{ProjectID: p, ItemID: id, Author: stage.Reviewer, Key: "7/3/0", Body: "fine"}
	_, err := f.Tracker.AddComment(t.Context(), fine)
	require.NoError(t, err)
	n.Body = "Goes\non & on."
	require.NoError(t, editor.SetComment(t.Context(), n))
	require.NoError(t, editor.SetComment(t.Context(), n), "again")
	list, err := f.Tracker.Comments(t.Context(), p, id)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, []string{"Goes\non & on.", "fine"}, []string{list[0].Body, list[1].Body})
	n.ItemID, n.Key = nothing, "waits/8"
	require.ErrorIs(t, editor.SetComment(t.Context(), n), tracker.ErrNotFound)
}

// commentsAtOnce also posts one key to two items: the key is the identity.
func commentsAtOnce(t *testing.T, f Fixture) {
	p := f.NewProject(all()...)
	items := []string{f.NewItem(p, "t", "d"), f.NewItem(p, "t", "d")}
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for n := range ids {
		wg.Go(func() {
			c := tracker.NewComment{ProjectID: p, ItemID: items[n%2], Key: "8/1/0", Body: "b"}
			id, err := f.Tracker.AddComment(t.Context(), c)
			if err != nil {
				t.Error(err)
			}
			ids[n] = id
		})
	}
	wg.Wait()
	require.NotEmpty(t, ids[0])
	total := 0
	for n, item := range items {
		require.Equal(t, ids[0], ids[n+1])
		list, err := f.Tracker.Comments(t.Context(), p, item)
		require.NoError(t, err)
		total += len(list)
	}
	require.Equal(t, 1, total)
	require.Len(t, slices.Compact(ids), 1)
}

// nothing is the id of no work item, in the form that trackers want.
const nothing = "00000000-0000-4000-8000-00000000dead"

func notFound(t *testing.T, f Fixture) {
	p := f.NewProject(all()...)
	_, err := f.Tracker.Item(t.Context(), p, nothing)
	require.ErrorIs(t, err, tracker.ErrNotFound)
	require.ErrorIs(t, f.Tracker.SetStatus(t.Context(), p, nothing, stage.StatusDone), tracker.ErrNotFound)
	_, err = f.Tracker.AddComment(t.Context(), tracker.NewComment{ProjectID: p, ItemID: nothing, Key: "k"})
	require.ErrorIs(t, err, tracker.ErrNotFound)
	said, err := f.Tracker.Comments(t.Context(), p, nothing)
	require.True(t, errors.Is(err, tracker.ErrNotFound) || err == nil && len(said) == 0, "%v", err) // Plane lists what hangs on nothing
}

func lists(t *testing.T, f Fixture) {
	p := f.NewProject(all()...)
	var ids []string
	for range 5 {
		ids = append(ids, f.NewItem(p, "t", "d"))
	}
	f.Move(ids[1], stage.StatusApproved)
	got := map[string]int{}
	first, q := "", tracker.Query{ProjectID: p}
	for range 100 {
		page, err := f.Tracker.List(t.Context(), q)
		require.NoError(t, err)
		for _, i := range page.Items {
			if first == "" {
				first = i.ID
			}
			got[i.ID]++
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	require.Len(t, got, 5)
	require.Equal(t, ids[1], first)
	page, err := f.Tracker.List(t.Context(), tracker.Query{ProjectID: p, Statuses: []stage.Status{stage.StatusApproved}})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	page, err = f.Tracker.List(t.Context(), tracker.Query{ProjectID: p, Since: page.Items[0].UpdatedAt})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
}

func columns(t *testing.T, f Fixture) {
	p := f.project(t, stage.StatusInProgress, stage.StatusBlocked)
	got, err := f.Tracker.Columns(t.Context(), p)
	require.NoError(t, err)
	require.True(t, strings.EqualFold("In Progress", got[stage.StatusAnalysis]))
	require.True(t, strings.EqualFold("Blocked", got[stage.StatusBlocked]))
	require.NotContains(t, got, stage.StatusConfirmDeploy)
	require.NotContains(t, got, stage.StatusApproved)
	for column, want := range map[string]stage.Status{
		got[stage.StatusBlocked]: stage.StatusBlocked, "Approved": stage.StatusUnknown, "": stage.StatusUnknown,
	} {
		status, err := f.Tracker.StatusOf(t.Context(), p, column)
		require.NoError(t, err)
		require.Equal(t, want, status, column)
	}
}
