package plane_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

const (
	projectID = "5d0c7a10-1111-4111-8111-000000000001"
	itemID    = "77ab12cd-2222-4222-8222-000000000002"
	kim       = "c0ffee00-3333-4333-8333-000000000001"
	ourselves = "c0ffee00-3333-4333-8333-000000000099"

	atProject = "/api/v1/workspaces/acme/projects/" + projectID + "/"
	atItem    = atProject + "work-items/" + itemID + "/"
)

// answer names what a recorded server says: a file under testdata/rest, or a text.
type answer struct {
	status       int // 0 = 200
	file, text   string
	header, with string // a header, and its value
}

// recorded is a server that answers from files, and keeps the requests.
type recorded struct {
	answers map[string]answer // by method, path and cursor

	mu     sync.Mutex
	asked  []string
	bodies []map[string]any
}

func (s *recorded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what := r.Method + " " + r.URL.Path
	if cursor := r.URL.Query().Get("cursor"); cursor != "" {
		what += " " + cursor
	}
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body) // a GET has none
	s.mu.Lock()
	s.asked, s.bodies = append(s.asked, what), append(s.bodies, body)
	s.mu.Unlock()
	a, ok := s.answers[what]
	if !ok || r.Header.Get("X-Api-Key") == "" {
		a = answer{status: http.StatusTeapot, text: what}
	}
	if a.file != "" {
		raw, err := os.ReadFile(filepath.Join("testdata", "rest", a.file+".json"))
		if err != nil {
			a = answer{status: http.StatusTeapot, text: err.Error()}
		}
		a.text = string(raw)
	}
	if a.header != "" {
		w.Header().Set(a.header, a.with)
	}
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	_, _ = io.WriteString(w, a.text)
}

// times counts how often a request was made.
func (s *recorded) times(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, a := range s.asked {
		if a == what {
			n++
		}
	}
	return n
}

// replay starts a recorded server and a client of it.
func replay(t *testing.T, answers map[string]answer) (*plane.Client, *recorded) {
	t.Helper()
	s := &recorded{answers: map[string]answer{"GET " + atProject + "states/": {file: "states_list"}}}
	for what, a := range answers {
		s.answers[what] = a
	}
	return clientOf(t, s), s
}

func clientOf(t *testing.T, h http.Handler, change ...func(*plane.Options)) *plane.Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	o := plane.Options{
		BaseURL: srv.URL + "/", Workspace: "acme", Token: botToken, RoleTokens: map[stage.Role]string{stage.Reviewer: reviewerToken},
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
	for _, f := range change {
		f(&o)
	}
	c, err := plane.New(o)
	require.NoError(t, err)
	return c
}

func TestItemShapes(t *testing.T) {
	t.Parallel()
	at := time.Date(2031, 2, 3, 5, 5, 6, 7000, time.UTC)
	for file, want := range map[string]tracker.Item{
		"item":          {Status: stage.StatusInProgress, StatusName: " in PROGRESS ", UpdatedAt: at, Description: "Count & show."},
		"item_expanded": {Status: stage.StatusInProgress, StatusName: " in PROGRESS ", UpdatedAt: at, Description: "Count & show."},
		"item_patched":  {Status: stage.StatusApproved, StatusName: "Approved", UpdatedAt: at.Add(time.Hour), Description: "Count & show."},
		"item_sparse":   {},
	} {
		c, s := replay(t, map[string]answer{"GET " + atItem: {file: file}})
		got, err := c.Item(t.Context(), projectID, itemID)
		require.NoError(t, err, file)
		page := c.ItemURL(got.ProjectID, got.ID)
		require.True(t, strings.HasSuffix(page, "/acme/projects/"+projectID+"/issues/"+itemID), page)
		require.NotContains(t, strings.TrimPrefix(page, "http://"), "//")
		want.ID, want.ProjectID, want.Sequence, want.Title = itemID, projectID, 7, "Zähler für Kacheln"
		require.Equal(t, want, got, file)
		require.Equal(t, 1, s.times("GET "+atProject+"states/"))
	}
}

func TestListShapes(t *testing.T) {
	t.Parallel()
	list := "GET " + atProject + "work-items/"
	c, s := replay(t, map[string]answer{list: {file: "items_page0"}, list + " 2:1:0": {file: "items_page1"}, list + " broken": {status: 400, file: "error_400_cursor"}})
	var titles []string
	q := tracker.Query{ProjectID: projectID}
	for {
		page, err := c.List(t.Context(), q)
		require.NoError(t, err)
		for _, i := range page.Items {
			titles = append(titles, i.Title+" "+string(i.Status))
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	require.Equal(t, []string{"newer approved", "older in_progress", "oldest "}, titles)
	require.Equal(t, 1, s.times("GET "+atProject+"states/"), "columns are read once")

	// Since ends the listing on the page where older items begin.
	page, err := c.List(t.Context(), tracker.Query{ProjectID: projectID, Since: time.Date(2031, 2, 4, 0, 0, 0, 0, time.UTC)})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	require.Empty(t, page.Next)

	// A page without an item of the requested status is not the end.
	page, err = c.List(t.Context(), tracker.Query{ProjectID: projectID, Statuses: []stage.Status{stage.StatusDone}})
	require.NoError(t, err)
	require.Empty(t, page.Items)
	require.Equal(t, "2:1:0", page.Next)

	_, err = c.List(t.Context(), tracker.Query{ProjectID: projectID, Cursor: "broken"})
	require.ErrorContains(t, err, "Invalid cursor parameter.")
}

func TestCommentShapes(t *testing.T) {
	t.Parallel()
	at := atItem + "comments/"
	c, s := replay(t, map[string]answer{
		"GET " + at: {file: "comments_page0"}, "GET " + at + " 2:1:0": {file: "comments_page1"},
		"POST " + at: {status: 201, file: "comment_created_201"}, "GET /api/v1/users/me/": {file: "users_me"},
	})
	list, err := c.Comments(t.Context(), projectID, itemID)
	require.NoError(t, err)
	var got []string
	for _, m := range list {
		got = append(got, m.Body)
	}
	require.Equal(t, []string{"Started.", "And *mine*", "Imported"}, got, "oldest first, none twice although the pages overlap")
	require.Equal(t, []bool{true, false, false}, []bool{list[0].Own, list[1].Own, list[2].Own})
	require.Equal(t, []string{ourselves, kim, ""}, []string{list[0].AuthorID, list[1].AuthorID, list[2].AuthorID})

	n := tracker.NewComment{ProjectID: projectID, ItemID: itemID, Key: "4/1/0", Body: "a <b>\r\nc\n\nd"}
	id, err := c.AddComment(t.Context(), n)
	require.NoError(t, err)
	require.Equal(t, list[0].ID, id)
	sent := s.bodies[len(s.bodies)-1]
	require.Equal(t, map[string]any{"comment_html": "<p>a &lt;b&gt;<br/>c</p><p>d</p>", "external_source": "signalbox", "external_id": "4/1/0"}, sent)

	small := n
	small.Links, small.Note = []tracker.Link{{Name: "a<b>.md", URL: `https://git.example.org/x?a=1&b="2"`}, {Name: "c.md", URL: "https://git.example.org/c"}}, "3 < 4"
	_, err = c.AddComment(t.Context(), small)
	require.NoError(t, err)
	require.Equal(t, `<p>a &lt;b&gt;<br/>c</p><p>d</p><p><a href="https://git.example.org/x?a=1&amp;b=&#34;2&#34;">a&lt;b&gt;.md</a> · `+
		`<a href="https://git.example.org/c">c.md</a> · 3 &lt; 4</p>`, s.bodies[len(s.bodies)-1]["comment_html"])

	c, _ = replay(t, map[string]answer{"POST " + at: {status: 409, file: "comment_conflict_409"}})
	again, err := c.AddComment(t.Context(), n)
	require.NoError(t, err, "what is there already is a success")
	require.Equal(t, id, again)

	c, _ = replay(t, map[string]answer{"POST " + at: {status: 409, text: `{"error":"no id"}`}})
	_, err = c.AddComment(t.Context(), n)
	require.Error(t, err, "a conflict that does not name the comment is none that we know")
}

func TestErrorShapes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		answer
		want     string
		missing  bool
		again    bool
		after    time.Duration
		attempts int
	}{
		{answer: answer{status: 400, file: "error_400_state"}, want: "State is not valid"},
		{answer: answer{status: 401, file: "error_401"}, want: "Authentication credentials"},
		{answer: answer{status: 403, file: "error_403_token"}, want: "Given API token"},
		{answer: answer{status: 403, file: "error_403_permission"}, want: "permission"},
		{answer: answer{status: 404, file: "error_404"}, want: "does not exist", missing: true},
		{answer: answer{status: 404, file: "error_404_route"}, want: "BaseURL"},
		{answer: answer{status: 404, text: "<html>no such host here</html>"}, want: "BaseURL"},
		{answer: answer{status: 429, file: "error_429", header: "Retry-After", with: "17"}, want: "RATE_LIMIT", again: true, after: 17 * time.Second},
		{answer: answer{status: 429, file: "error_429"}, want: "RATE_LIMIT", again: true, after: time.Minute},
		{answer: answer{status: 429, file: "error_429", header: "Retry-After", with: "soon"}, want: "RATE_LIMIT", again: true, after: time.Minute},
		{answer: answer{status: 500, file: "error_500"}, want: "Something went wrong", again: true, attempts: 3},
		{answer: answer{status: 503, text: "down", header: "Retry-After", with: "3600"}, want: "503", again: true, after: time.Hour},
		{answer: answer{status: 302, header: "Location", with: "/login/"}, want: "/login/", again: true},
		{answer: answer{status: 301, header: "Location", with: "https://elsewhere.example.org/"}, want: "elsewhere"},
		{answer: answer{status: 418, text: `{"error":"` + strings.Repeat("é", 5000) + `"}`}, want: "éé…"},
	} {
		c, s := replay(t, map[string]answer{"GET " + atItem: tt.answer})
		_, err := c.Item(t.Context(), projectID, itemID)
		var e *plane.Error
		require.ErrorAs(t, err, &e, tt.want)
		require.ErrorContains(t, err, tt.want)
		require.Less(t, len(err.Error()), 700)
		require.NotContains(t, err.Error(), "plane_api", "no token in an error")
		require.Equal(t, tt.status, e.Status)
		require.Equal(t, tt.again, e.Retryable(), tt.want)
		require.Equal(t, tt.after, e.RetryAfter(), tt.want)
		if tt.missing {
			require.ErrorIs(t, err, tracker.ErrNotFound)
		} else {
			require.NotErrorIs(t, err, tracker.ErrNotFound, tt.want)
		}
		require.Equal(t, max(1, tt.attempts), s.times("GET "+atItem), "%s: only a failure that may pass at once is tried again", tt.want)
	}
}

func TestAnswersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "<html>", `{"id":7}`, `{"state":[]}`, "\x00"} {
		c, _ := replay(t, map[string]answer{"GET " + atItem: {text: text}})
		_, err := c.Item(t.Context(), projectID, itemID)
		require.ErrorContains(t, err, "cannot be read", text)
		e := failure(t, err)
		require.True(t, e.Retryable(), "it is a page of something in front of Plane: %q", text)
	}
	for _, text := range []string{"null", "{}"} { // what can be read and says nothing
		states, all, comments := "GET "+atProject+"states/", "GET "+atProject+"work-items/", "GET "+atItem+"comments/"
		c, _ := replay(t, map[string]answer{"GET " + atItem: {text: text}, states: {text: text}, all: {text: text}, comments: {text: text}, "GET /api/v1/users/me/": {file: "users_me"}})
		identify(t, c)
		_, item := c.Item(t.Context(), projectID, itemID)
		_, columns := c.Columns(t.Context(), projectID)
		_, list := c.List(t.Context(), tracker.Query{ProjectID: projectID})
		_, said := c.Comments(t.Context(), projectID, itemID)
		for what, err := range map[string]error{"item": item, "columns": columns, "list": list, "comments": said} {
			var e *plane.Error
			require.ErrorAs(t, err, &e, "%s of %s", what, text)
			require.True(t, e.Retryable(), what)
		}
	}
}

// A listing that never ends is given up.
func TestEndlessPages(t *testing.T) {
	t.Parallel()
	endless := answer{text: `{"next_cursor":"100:1:0","next_page_results":true,"results":[]}`}
	at := "GET " + atItem + "comments/"
	c, s := replay(t, map[string]answer{at: endless, at + " 100:1:0": endless, "GET /api/v1/users/me/": {file: "users_me"}})
	identify(t, c)
	_, err := c.Comments(t.Context(), projectID, itemID)
	require.ErrorContains(t, err, "pages")
	require.LessOrEqual(t, s.times(at+" 100:1:0"), 200)
}
