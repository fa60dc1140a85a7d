package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// desk is the dashboard over a board of our own, whose engine does not run: its events stay
// in its queue.
type desk struct {
	*testing.T
	board  *board.Board
	store  *memstore.Store
	engine *orchestrator.Engine
	pages  http.Handler
	cookie []*http.Cookie
	from   string // address of the client
	bearer string // token of who sends the requests; empty = nobody's
}

func newDesk(t *testing.T, adminToken string) *desk {
	t.Helper()
	d := &desk{T: t, store: memstore.New(nil), from: "127.0.0.1:1"}
	var err error
	d.board, err = board.Open(t.Context(), board.Options{Path: filepath.Join(t.TempDir(), "x.db")})
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.board.Close() }) // a test may have closed it
	projects, err := task.NewProjects(task.Project{TrackerProject: project, Repo: repo, CloneURL: "u", Prefix: "APP"}, task.Project{TrackerProject: "p2", Repo: other, CloneURL: "u", Prefix: "OTH"})
	require.NoError(t, err)
	place := memwork.New(func(context.Context, work.Command, map[string]string) work.Result { return work.Result{} })
	host := memhost.New()
	d.engine, err = orchestrator.New(stage.Default(), orchestrator.Deps{
		Store: d.store, Records: d.store, Jobs: d.store, Projects: projects, Tracker: d.board, Host: host, Workspaces: place, Agents: place, Gates: checks.All(nil),
		Runners: effects.Runners(effects.Deps{Store: d.store, Jobs: d.store, Projects: projects, Tracker: d.board, Host: host, Workspaces: place}),
	}, orchestrator.Options{})
	require.NoError(t, err)
	d.pages = handler(t, dashboard.Options{Engine: d.engine, History: d.store, Access: access.New(access.Options{AdminToken: adminToken, Local: true, PublicRead: true}), Cards: d.board})
	return d
}

// signedIn is a desk whose requests carry the administrator's token.
func signedIn(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t, token)
	d.bearer = token
	return d
}

// request requests a page below a prefix; cookies are kept.
func (d *desk) request(method, path string, form url.Values, header ...string) answer {
	d.Helper()
	r := httptest.NewRequest(method, "/x"+path, strings.NewReader(form.Encode()))
	r.RemoteAddr, r.Host = d.from, "127.0.0.1:8080"
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if d.bearer != "" {
		r.Header.Set("Authorization", "Bearer "+d.bearer)
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	for _, c := range d.cookie {
		r.AddCookie(c)
	}
	rec := httptest.NewRecorder()
	http.StripPrefix("/x", d.pages).ServeHTTP(rec, r)
	for _, c := range rec.Result().Cookies() {
		require.Equal(d, "/x/", c.Path)
		require.True(d, c.HttpOnly && c.SameSite == http.SameSiteStrictMode)
		d.cookie = append(d.cookie, c)
	}
	return answer{rec.Code, rec.Header(), rec.Body.String()}
}

func (d *desk) post(path string, form url.Values, header ...string) answer {
	d.Helper()
	return d.request(http.MethodPost, path, form, header...)
}

// made is a card by the form, and the path of its page.
func (d *desk) made(title string) string {
	d.Helper()
	a := d.post("/board/new", url.Values{"key": {title}, "project": {project}, "title": {title}, "description": {"wanted " + evil}, "name": {"Kim"}})
	require.Equal(d, http.StatusSeeOther, a.status, a.body)
	path, _, _ := strings.Cut(strings.TrimPrefix(a.header.Get("Location"), "../"), "?")
	return "/" + path
}

// events returns the events that the engine has of the board.
func (d *desk) events() []queue.Job {
	d.Helper()
	jobs, err := d.store.Jobs(context.Background(), queue.Filter{Open: true})
	require.NoError(d, err)
	return jobs
}

// What people do becomes an event, durable before they are answered; announced twice it is one.
func TestCardActsAreEvents(t *testing.T) {
	d := signedIn(t)
	card := d.made("one")
	require.Len(t, d.events(), 1, "it is made")
	const begins = "Comment and set To Analyse"
	require.Contains(t, d.request(http.MethodGet, card, nil).body, begins)
	for range 2 {
		require.Equal(t, http.StatusSeeOther, d.post(card+"/move", url.Values{"column": {"to_analyse"}}).status)
	}
	jobs := d.events()
	require.Len(t, jobs, 2)
	require.NotContains(t, d.request(http.MethodGet, card, nil).body, begins)
	id := card[strings.LastIndex(card, "/")+1:]
	for _, want := range []string{`"ActorID":"Kim"`, `"To":"to_analyse"`, `"Via":"board"`, `"Proof":"none"`, `"Status":true`} {
		require.Contains(t, string(jobs[1].Payload), want)
	}
	_, err := d.board.Move(t.Context(), id, "blocked", cards.Person{Name: cards.Service + string(stage.Stream)})
	require.NoError(t, err)
	refused := d.request(http.MethodGet, card, nil).body
	require.Contains(t, refused, begins, "it was refused")
	require.Contains(t, refused, "<bdi>signalbox</bdi>")
	back := d.post(card+"/move", url.Values{"column": {"backlog"}, "back": {project}})
	require.Contains(t, back.header.Get("Location"), "?project="+project)
	require.Equal(t, http.StatusSeeOther, d.post(card+"/say", url.Values{"key": {"k"}, "body": {"words " + evil}}).status)
	require.Equal(t, http.StatusSeeOther, d.post(card+"/arrange", url.Values{"kind": {"archived"}}).status)
	require.Len(t, d.events(), 3, "comments and arrangements are none")
	page := d.request(http.MethodGet, card, nil)
	require.NotContains(t, page.body, "<script>alert")
	require.Contains(t, page.body, "&lt;script&gt;alert(1)")
	require.Contains(t, d.request(http.MethodGet, "/?archived=1", nil).body, "APP-1")
	require.Equal(t, http.StatusSeeOther, d.post(card+"/arrange", url.Values{"kind": {"deleted"}}).status)
	jobs = d.events()
	require.Len(t, jobs, 4, "but that the card is gone")
	require.Contains(t, string(jobs[3].Payload), `"Kind":"item_removed"`)
}

// Where there is no token the board is changed on this machine alone; where there is one,
// everywhere and by those who have it.
func TestWhoMayChangeCards(t *testing.T) {
	d := signedIn(t)
	card := d.made("one")
	try := func() int { return d.post(card+"/move", url.Values{"column": {"done"}, "name": {"Kim"}}).status }
	require.Equal(t, http.StatusSeeOther, try())
	d.bearer = ""
	require.Equal(t, http.StatusUnauthorized, try(), "who is on this machine reads")
	d.from = "192.0.2.1:1"
	require.Equal(t, http.StatusUnauthorized, try())
	require.Contains(t, d.request(http.MethodGet, "/", nil).body, "Sign in")
	require.NotContains(t, d.request(http.MethodGet, card, nil).body, `<form class="sayform"`)

	d = newDesk(t, token)
	require.Contains(t, d.request(http.MethodGet, "/", nil).body, "Sign in")
	refused := d.post("/board/new", url.Values{"form": {"card"}, "key": {"k"}, "project": {project}, "title": {"my title"}, "description": {"my words"}, "name": {"Kim"}, "token": {"wrong"}})
	require.Equal(t, http.StatusUnauthorized, refused.status)
	require.Contains(t, refused.body, "This is no token of this server")
	for _, kept := range []string{`value="my title"`, ">my words</textarea>", `name="key" value="k"`, `value="Kim"`} {
		require.Contains(t, refused.body, kept)
	}
	require.NotContains(t, refused.body, `value="wrong"`)
	d.from = "192.0.2.1:1"
	ok := d.post("/board/new", url.Values{"key": {"k"}, "project": {project}, "title": {"t"}, "name": {"Kim"}, "token": {token}})
	require.Equal(t, http.StatusSeeOther, ok.status)
	require.Equal(t, http.StatusSeeOther, d.post("/board/new", url.Values{"key": {"l"}, "project": {project}, "title": {"t"}}).status, "the token and the name are remembered")
	list, err := d.board.Cards(t.Context(), cards.Filter{})
	require.NoError(t, err)
	s, err := d.board.Story(t.Context(), list[0].ID)
	require.NoError(t, err)
	require.Equal(t, stage.ProofNone, s.Log[0].Proof)
}

// What is not taken says why, and stands in the page that says so.
func TestWordsAreKept(t *testing.T) {
	d := signedIn(t)
	card := d.made("one")
	d.cookie = nil
	for _, c := range []struct {
		path   string
		form   url.Values
		status int
		words  []string
	}{
		{card + "/say", url.Values{"form": {"say"}, "key": {"k7"}, "body": {"my <words>"}}, http.StatusUnprocessableEntity, []string{"Type your name", "my &lt;words&gt;</textarea>", `value="k7"`}},
		{card + "/say", url.Values{"form": {"say"}, "body": {"my words"}, "name": {"a/b"}}, http.StatusUnprocessableEntity, []string{"no slash", "my words</textarea>"}},
		{card + "/say", url.Values{"form": {"say"}, "body": {" "}, "name": {"Kim"}}, http.StatusUnprocessableEntity, []string{"The comment is empty"}},
		{"/board/new", url.Values{"form": {"card"}, "project": {project}, "description": {"my words"}, "start": {"1"}}, http.StatusUnprocessableEntity, []string{"no title", "my words</textarea>", "checked"}},
		{card + "/edit", url.Values{"form": {"card"}, "version": {"7"}, "title": {"mine"}, "description": {"my words"}}, http.StatusConflict, []string{"Somebody else has changed", "my words</textarea>", "What the card says now", `name="version" value="1"`}},
		{card + "/arrange", url.Values{"form": {"relate"}, "kind": {"blocked"}, "other": {"NO-7"}}, http.StatusUnprocessableEntity, []string{"There is no card", `value="NO-7"`, "APP-1"}},
		{card + "/move", url.Values{"column": {"nowhere"}}, http.StatusUnprocessableEntity, []string{"There is no column"}},
		{"/board/cards/nothing/say", url.Values{"body": {"my words"}}, http.StatusNotFound, []string{"no such card any more", "my words</textarea>"}},
	} {
		a := d.post(c.path, c.form)
		require.Equal(t, c.status, a.status, c.path)
		for _, words := range c.words {
			require.Contains(t, a.body, words, c.path)
		}
	}
	require.NoError(t, d.board.Close())
	a := d.post(card+"/say", url.Values{"form": {"say"}, "key": {"k9"}, "body": {"my <words>"}, "name": {"Kim"}, "token": {token}})
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	for _, words := range []string{"Not saved yet", "my &lt;words&gt;</textarea>", `name="key" value="k9"`, "Send again"} {
		require.Contains(t, a.body, words)
	}
	require.NotContains(t, a.body, token)
}

// A card whose task is not over is not archived, and its page leads to the task.
func TestCardOfATask(t *testing.T) {
	d := signedIn(t)
	card := d.made("one")
	id := card[strings.LastIndex(card, "/")+1:]
	n, err := d.store.NewTaskID(t.Context())
	require.NoError(t, err)
	row := task.Task{ID: n, TrackerIssueID: id, Repo: repo, WorkItemID: "APP-1", Title: "one", Branch: "b", State: stage.State{Stage: stage.Analysis, Hold: stage.HoldApproval, HoldReason: "a person's verdict"}}
	require.NoError(t, d.store.Commit(t.Context(), task.Commit{Task: &row}))
	a := d.post(card+"/arrange", url.Values{"kind": {"archived"}})
	require.Equal(t, http.StatusUnprocessableEntity, a.status)
	require.Contains(t, a.body, "stop it first")
	page := d.request(http.MethodGet, card, nil).body
	require.Contains(t, page, "tasks/1")
	require.Regexp(t, regexp.MustCompile(`name="column" value="approved"`), page, "what the task waits for is a button")
	require.Contains(t, d.request(http.MethodGet, "/", nil).body, "needs you")
	for _, path := range []string{card, "/tasks/1"} {
		page := d.request(http.MethodGet, path, nil).body
		for _, part := range []string{`class="rail"`, `id="verdict-form"`, `id="move"`, `id="say"`, `id="log-h"`, `id="story-h"`} {
			require.Contains(t, page, part, "%s is the one page of both", path)
		}
	}

	require.Equal(t, http.StatusSeeOther, d.post("/tasks/1/retry", url.Values{}).status)
	entries, err := d.store.Journal(t.Context(), n)
	require.NoError(t, err)
	act, err := entries[len(entries)-1].Acted()
	require.NoError(t, err)
	require.Equal(t, "Kim (admin token)", act.By.Name)
	row.State.Stage, row.State.Hold, row.Version = stage.Done, stage.HoldNone, 1
	undo := task.Task{ID: n + 1, TrackerIssueID: id, Repo: repo, WorkItemID: "APP-1-undo", Title: "Undo", Branch: "c", State: stage.State{Stage: stage.Development, Follows: "APP-1"}}
	require.NoError(t, d.store.Commit(t.Context(), task.Commit{Task: &row}))
	require.NoError(t, d.store.Commit(t.Context(), task.Commit{Task: &undo}))
	require.Regexp(t, `(?s)Followed by <a href="[^"]*tasks/2">.*id="story-h"`, d.request(http.MethodGet, "/tasks/1", nil).body, "without unfolding anything")
}

// Whose name is not known is asked for it once, by the form that was sent, and by no other page from then on.
func TestNameIsAskedOnce(t *testing.T) {
	d := signedIn(t)
	card := d.made("one")
	require.NotContains(t, d.request(http.MethodGet, card, nil).body, `id="name-`)
	d.cookie = nil
	for _, path := range []string{card, "/", "/board/new?project=" + project} {
		require.NotContains(t, d.request(http.MethodGet, path, nil).body, `id="name-`, path)
	}
	a := d.post(card+"/move", url.Values{"form": {"move"}, "column": {"approved"}})
	require.Equal(t, http.StatusUnprocessableEntity, a.status)
	require.Contains(t, a.body, `id="name-move"`)
	require.Contains(t, a.body, `<option value="approved" selected>`, "the choice is kept")
	require.Equal(t, http.StatusSeeOther, d.post(card+"/move", url.Values{"form": {"move"}, "column": {"approved"}, "name": {"Lee"}}).status)
	require.Equal(t, http.StatusSeeOther, d.post(card+"/move", url.Values{"form": {"move"}, "column": {"backlog"}}).status)
}

// Without a board of our own there are no such pages.
func TestNoCards(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		require.Equal(t, http.StatusNotFound, w.get("/board").status)
		require.NotContains(t, w.get("/").body, ">Cards<")
	})
}

// Every column of the specification is there, and the first is not one of them.
func TestColumns(t *testing.T) {
	var keys []stage.Status
	for _, c := range cards.Columns()[1:] {
		keys = append(keys, c.Status)
	}
	for _, s := range stage.Statuses() {
		require.Contains(t, keys, s.Key, s.Key)
	}
	require.Len(t, keys, len(stage.Statuses()))
	require.Equal(t, stage.StatusUnknown, cards.Columns()[0].Status)
}

// Cards are put up and down by buttons, which lead back to the board.
func TestCardsArePutInOrder(t *testing.T) {
	d := signedIn(t)
	one, two := d.made("one"), d.made("two")
	page := d.request(http.MethodGet, "/", nil).body
	require.Less(t, strings.Index(page, ">two<"), strings.Index(page, ">one<"), "the newest is on top")
	form := regexp.MustCompile(`formaction="\.?/?(?:\.\./)*([^"]+)" name="(before|behind)" value="([^"]+)">(Up|Down)`).FindAllStringSubmatch(page, -1)
	require.Len(t, form, 2, "the first goes down, the last up")
	require.Equal(t, []string{two[1:] + "/arrange", "behind", "Down", one[1:] + "/arrange", "before", "Up"},
		[]string{form[0][1], form[0][2], form[0][4], form[1][1], form[1][2], form[1][4]})
	a := d.post("/"+form[1][1], url.Values{form[1][2]: {form[1][3]}, "back": {project}})
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	require.Contains(t, a.header.Get("Location"), "?project="+project+"#k-")
	page = d.request(http.MethodGet, "/", nil).body
	require.Less(t, strings.Index(page, ">one<"), strings.Index(page, ">two<"))
	require.Contains(t, d.request(http.MethodGet, one, nil).body, "put it elsewhere in its column")
}

// Several cards are moved by one form, each as if alone; a verdict is none of that, and what stays behind is sent again.
func TestSeveralCardsAreMoved(t *testing.T) {
	d := signedIn(t)
	var ids []string
	for _, title := range []string{"one", "two", "three"} {
		ids = append(ids, strings.TrimPrefix(d.made(title), "/board/cards/"))
	}
	d.cookie = append(d.cookie, &http.Cookie{Name: access.NameCookie, Value: "Kim"})
	page := d.request(http.MethodGet, "/", nil).body
	require.Contains(t, page, `form="bulk" name="card" value="`+ids[0]+`"`)
	require.NotContains(t, regexp.MustCompile(`(?s)<form class="filter" id="bulk".*?</form>`).FindString(page), `value="approved"`)
	for _, form := range []url.Values{{"column": {"done"}}, {"card": ids, "column": {"approved"}}, {"card": ids, "column": {"moon"}}} {
		require.Equal(t, http.StatusUnprocessableEntity, d.post("/board/move", form).status, form)
	}
	_, err := d.board.Move(t.Context(), ids[0], "backlog", cards.Person{Name: "Kim"})
	require.NoError(t, err)
	require.NoError(t, d.board.Arrange(t.Context(), cards.Arrangement{ID: ids[2], Kind: cards.ArchivedIt, By: cards.Person{Name: "Kim"}}))
	a := d.post("/board/move", url.Values{"card": ids, "column": {"done"}, "back": {project}})
	require.Equal(t, http.StatusUnprocessableEntity, a.status)
	for _, id := range ids {
		require.Contains(t, a.body, `name="card" value="`+id+`"`, "it is sent again with all of them")
	}
	require.Contains(t, a.body, "2 of 3 cards are moved. The card is archived")
	require.NoError(t, d.board.Arrange(t.Context(), cards.Arrangement{ID: ids[2], Kind: cards.RestoredIt, By: cards.Person{Name: "Kim"}}))
	before := len(d.events())
	require.Contains(t, d.post("/board/move", url.Values{"card": ids, "column": {"done"}, "back": {"*"}}).header.Get("Location"), "?group=repo&said=moved#col-done")
	require.Len(t, d.events(), before+1, "those that stand there already are not announced again")
}

// Boards of several repositories are lanes of one page, and all of them are searched.
func TestLanesByRepository(t *testing.T) {
	d := signedIn(t)
	d.made("one")
	require.Equal(t, http.StatusSeeOther, d.post("/board/new", url.Values{"key": {"k"}, "project": {"p2"}, "title": {"elsewhere"}, "labels": {"map"}, "name": {"Kim"}}).status)
	page := d.request(http.MethodGet, "/?group=repo", nil).body
	for _, want := range []string{`id="col-APP-backlog"`, `id="col-OTH-backlog"`, ">one</a>", ">elsewhere</a>", "<option>map</option>", `name="back" value="*"`} {
		require.Contains(t, page, want)
	}
	require.Less(t, strings.Index(page, ">one</a>"), strings.Index(page, `id="col-OTH-backlog"`))
	page = d.request(http.MethodGet, "/?group=repo&q=oth-1", nil).body
	require.Contains(t, page, ">1 found")
	require.NotContains(t, page, ">one</a>")
	require.NotContains(t, d.request(http.MethodGet, "/?project="+project, nil).body, ">elsewhere</a>")
}

// The board is searched and narrowed by a form, and counts what it has found; labels lead to those that share them.
func TestBoardIsFiltered(t *testing.T) {
	d := signedIn(t)
	for n := range 40 {
		labels := map[bool]string{true: "map, Slow", false: "shop"}[n%2 == 0]
		form := url.Values{"key": {fmt.Sprint(n)}, "project": {project}, "title": {fmt.Sprintf("Tile %d", n)}, "labels": {labels}, "name": {"Kim"}}
		require.Equal(t, http.StatusSeeOther, d.post("/board/new", form).status)
	}
	board := d.request(http.MethodGet, "/", nil).body
	require.Contains(t, board, "and 10 more", "a column is bounded")
	require.Contains(t, board, `<option>Slow</option><option>map</option><option>shop</option>`)
	for query, want := range map[string][]string{
		"q=tile+39": {">1 found", ">Tile 39</a>"}, "q=app-7": {">1 found", ">Tile 6</a>"}, "label=map": {">20 found", ">Tile 38</a>", "<option selected>map"},
		"label=map&q=tile+3": {">5 found"}, "q=SLOW&column=backlog": {">20 found"}, "q=" + url.QueryEscape(evil): {">0 found"}, "label=ma": {">0 found"},
	} {
		page := d.request(http.MethodGet, "/?"+query, nil).body
		for _, part := range want {
			require.Contains(t, page, part, query)
		}
		require.NotContains(t, page, "<script>alert")
	}
	require.NotContains(t, d.request(http.MethodGet, "/?label=map", nil).body, ">Tile 39</a>")
	list, err := d.board.Cards(t.Context(), cards.Filter{Number: 1})
	require.NoError(t, err)
	require.Contains(t, d.request(http.MethodGet, "/board/cards/"+list[0].ID, nil).body, `?project=p1&amp;label=map"><bdi>map</bdi>`)
}
