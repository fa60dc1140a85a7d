package web_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// deskWithACard is a board of our own beside an engine, with the card APP-1.
func deskWithACard(r *Rig) admin.Desk {
	own, err := board.Open(r.Context(), board.Options{Path: filepath.Join(r.TempDir(), "board.db")})
	require.NoError(r, err)
	r.Cleanup(func() { require.NoError(r, own.Close()) })
	d := admin.Desk{Engine: r.Engine, Cards: own, Source: "board"}
	c, err := d.Make(r.Context(), cards.New{Project: App, Title: "x", By: cards.Person{Name: "ann"}}, false)
	require.NoError(r, err)
	require.NoError(r, own.Say(r.Context(), cards.Saying{ID: c.ID, Body: "said", By: cards.Person{Name: "admin"}}))
	return d
}

// card returns what sends a request by a role, and reads the card that is answered.
func (d *door) card(t *testing.T) func(role access.Role, method, path, body string, want int) web.CardDetail {
	return func(role access.Role, method, path, body string, want int) (c web.CardDetail) {
		t.Helper()
		a := d.do(method, path, map[string]string{"Authorization": "Bearer " + d.tokens[role]}, body)
		require.Equal(t, want, a.status, "%s %s %s: %s", method, path, body, a.body)
		if want == http.StatusOK {
			require.NoError(t, json.Unmarshal([]byte(a.body), &c))
		}
		return c
	}
}

// Programs make, comment on, move and edit cards: what is sent again changes nothing, each move is announced to the
// engine with who has made it, and what is refused is refused before anything is done.
func TestCardsByTheAPI(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	ask := d.card(t)
	const card = `{"key": "k", "board": "app", "title": "An alert", "description": "It **burns**.", "labels": "fix, ops", "begin": true}`
	made := ask(access.Operator, "POST", "/cards", card, 200)
	require.Equal(t, []any{"APP-2", "acme/app", "to_analyse", "the-operator", "fix, ops"}, []any{made.Key, made.Repo, made.Column, made.MadeBy, made.Labels})
	require.Equal(t, made, ask(access.Operator, "POST", "/cards", card, 200), "sent again")

	for range 2 {
		said := ask(access.Operator, "POST", "/cards/app-2", `{"key": "c", "comment": "Blue."}`, 200)
		require.Equal(t, []any{1, "Blue.", "the-operator"}, []any{len(said.Comments), said.Comments[0].Body, said.Comments[0].Author})
	}
	ask(access.Operator, "POST", "/cards/APP-2", `{"to": "In Progress"}`, 200)
	require.Equal(t, "in_progress", ask(access.Viewer, "GET", "/cards/"+made.ID, "", 200).Column)

	ask(access.Operator, "POST", "/cards/APP-2", `{"to": "Approved"}`, 403)
	ask(access.Approver, "POST", "/cards/APP-2", `{"to": "rejected", "commit": ""}`, 400) // without a reason
	row := task.Task{ID: 3, Repo: "acme/app", TrackerProjectID: "p1", TrackerIssueID: made.ID, WorkItemID: "APP-2", Branch: "b3", State: stage.State{Stage: stage.Analysis, Hold: stage.HoldApproval, Head: "c2"}}
	require.NoError(t, d.store.Commit(t.Context(), task.Commit{Task: &row}))
	ask(access.Approver, "POST", "/cards/APP-2", `{"to": "approved", "commit": "c1", "comment": "Fine."}`, 409)
	require.Len(t, ask(access.Viewer, "GET", "/cards/APP-2", "", 200).Comments, 1, "what is refused is not said")
	rejected := ask(access.Approver, "POST", "/cards/APP-2", `{"to": "rejected", "commit": "c2", "comment": "Red."}`, 200)
	require.Equal(t, []any{"rejected", 2}, []any{rejected.Column, len(rejected.Comments)})
	require.Equal(t, rejected, ask(access.Operator, "POST", "/cards", card, 200), "sent again after people have moved it")

	require.Equal(t, "New", ask(access.Operator, "PUT", "/cards/APP-2", `{"version": 1, "title": "New"}`, 200).Title)
	ask(access.Operator, "PUT", "/cards/APP-2", `{"version": 1, "title": "Newer"}`, 409)
	for body, field := range map[string]string{
		`{"title": ""}`: "title", `{"board": "app", "title": "x", "begn": true}`: "begn", `{"board": "moon", "title": "x"}`: "board", `{"title": "x", "board": ""}`: "board",
	} {
		a := d.do("POST", "/cards", map[string]string{"Authorization": "Bearer " + d.tokens[access.Operator]}, body)
		require.GreaterOrEqual(t, a.status, 400, body)
		require.Contains(t, strings.ToLower(a.body), field)
	}
	ask(access.Operator, "POST", "/cards/APP-2", `{"to": "moon"}`, 400)
	ask(access.Operator, "POST", "/cards/APP-77", `{"to": "STOP"}`, 404)

	for range 2 {
		ask(access.Operator, "POST", "/cards", `{"board": "app", "title": "Behind"}`, 200)
	}
	moveAll := func(role access.Role, body string) (status int, list web.MoveList) {
		a := d.do("POST", "/cards/move", map[string]string{"Authorization": "Bearer " + d.tokens[role]}, body)
		_ = json.Unmarshal([]byte(a.body), &list)
		return a.status, list
	}
	for range 2 {
		status, list := moveAll(access.Operator, `{"key": "b", "cards": ["app-3", "APP-77", "APP-4"], "to": "Blocked", "comment": "Later."}`)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "[{app-3 blocked } {APP-77  There is no such card.} {APP-4 blocked }]", fmt.Sprint(list.Cards))
		require.Len(t, ask(access.Viewer, "GET", "/cards/APP-4", "", 200).Comments, 1)
	}
	for _, body := range []string{`{"cards": ["APP-3"], "to": "Approved"}`, `{"cards": ["APP-3"], "to": ""}`, `{"cards": [], "to": "Backlog"}`} {
		status, _ := moveAll(access.Approver, body)
		require.Equal(t, http.StatusBadRequest, status, body)
	}
	_, list := moveAll(access.Operator, `{"cards": ["`+d.none.card+`"], "to": "Backlog", "comment": "secret"}`)
	require.Empty(t, list.Cards[0].Column, "it is of another repository")
	require.NotEmpty(t, list.Cards[0].Problem)
	require.NotContains(t, list.Cards[0].Problem, "acme/other")
	status, _ := moveAll(access.Viewer, `{"cards": ["APP-3"], "to": "Backlog"}`)
	require.Equal(t, http.StatusForbidden, status)
	moveAll(access.Operator, `{"cards": ["APP-4", "APP-3"], "to": "Backlog"}`)
	ask(access.Viewer, "POST", "/cards/APP-3", `{"behind": "app-4"}`, 403)
	ask(access.Operator, "POST", "/cards/APP-3", `{"behind": "app-77"}`, 400)
	ask(access.Operator, "POST", "/cards/APP-3", `{"behind": "APP-2"}`, 400) // which is in another column
	ask(access.Operator, "POST", "/cards/APP-3", `{"to": "STOP", "behind": "APP-4"}`, 400)
	require.Equal(t, "backlog", ask(access.Viewer, "GET", "/cards/APP-3", "", 200).Column, "what is refused is not done")
	for side, order := range map[string][]string{"before": {`"APP-3"`, `"APP-4"`}, "behind": {`"APP-4"`, `"APP-3"`}} {
		ask(access.Operator, "POST", "/cards/APP-3", fmt.Sprintf(`{%q: "app-4"}`, side), 200)
		a := d.do("GET", "/cards?column=backlog", map[string]string{"Authorization": "Bearer " + d.tokens[access.Viewer]}, "")
		require.Less(t, strings.Index(a.body, order[0]), strings.Index(a.body, order[1]), a.body)
	}

	ask(access.Operator, "POST", "/cards", `{"key": "cut", "board": "app", "title": "x"}`, 200)
	cut := ask(access.Operator, "POST", "/cards", `{"key": "cut", "board": "app", "title": "x", "begin": true}`, 200)
	require.Equal(t, "to_analyse", cut.Column, "as after a crash between making and moving it")

	jobs, err := d.store.Jobs(t.Context(), queue.Filter{Limit: 100})
	require.NoError(t, err)
	var moves []string
	for _, j := range jobs {
		if at := strings.Index(string(j.Payload), `"board.moved"`); at >= 0 {
			require.Contains(t, string(j.Payload), `"token"`, "who has moved it is proved")
			moves = append(moves, string(j.Payload))
		}
	}
	require.Len(t, moves, 8)
}

// Who shares the operator's token is shown by the name that was sent, and is nobody else by that; who has a token of
// their own is not called otherwise.
func TestNameBesideAToken(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	said := func(token, typed string) (by stage.Principal, author string) {
		header := map[string]string{"Authorization": "Bearer " + token, "Cookie": access.NameCookie + "=" + typed}
		require.Equal(t, http.StatusAccepted, d.do("POST", "/tasks/1/notes", header, `{"text": "mind the poles"}`).status)
		story, err := d.store.Journal(t.Context(), 1)
		require.NoError(t, err)
		a, err := story[len(story)-1].Acted()
		require.NoError(t, err)
		var c web.CardDetail
		made := d.do("POST", "/cards", header, fmt.Sprintf(`{"key": "%s/%s", "board": "app", "title": "x"}`, token, typed))
		require.NoError(t, json.Unmarshal([]byte(made.body), &c), made.body)
		return a.By, c.MadeBy
	}
	for typed, want := range map[string]string{"kim+lee": "kim lee (admin token)", "signalbox%2Fservice": "", strings.Repeat("k", 61): "", "%00": "", "": ""} {
		by, author := said(adminToken, typed)
		require.Equal(t, []string{"admin", want, cmp.Or(want, "admin")}, []string{by.ID, by.Name, author}, typed)
	}
	by, author := said(d.tokens[access.Operator], "kim")
	require.Equal(t, []string{"the-operator", "", "the-operator"}, []string{by.ID, by.Name, author})
}

// A name that two boards have changes nothing: the answer says whose they are, as far as they may be read, and how one is meant.
func TestNameOfTwo(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	projects, err := task.NewProjects(
		task.Project{TrackerProject: "p1", Repo: "acme/app", CloneURL: "u", Prefix: "APP"},
		task.Project{TrackerProject: "p2", Repo: "acme/other", CloneURL: "u", Prefix: "APP"},
		task.Project{TrackerProject: "issues:x", Board: "issues", Repo: "acme/x", CloneURL: "u", Prefix: "X"},
	)
	require.NoError(t, err)
	d.projects.Replace(projects)
	ask := func(token, path, body string) answer {
		return d.do("POST", path, map[string]string{"Authorization": "Bearer " + token}, body)
	}
	for path, body := range map[string]string{
		"/cards/APP-1": `{"to": "STOP"}`, "/cards/" + d.none.card: `{"before": "APP-1"}`, "/cards": `{"board": "app", "title": "x"}`,
	} {
		a := ask(adminToken, path, body)
		require.Equal(t, http.StatusBadRequest, a.status, a.body)
		if strings.Contains(body+path, "APP-1") {
			require.Contains(t, a.body, "APP-1 is a card of acme/app and one of acme/other: write the id")
		}
	}
	require.Equal(t, http.StatusOK, ask(d.tokens[access.Operator], "/cards/APP-1", `{"to": "STOP"}`).status, "who reads one means that")
	require.Contains(t, ask(adminToken, "/cards/"+d.none.card, `{"before": "`+d.mine.card+`"}`).body, "column", "an id is taken there, too")
	require.Equal(t, http.StatusOK, ask(adminToken, "/cards", `{"board": "p2", "title": "x"}`).status)
	require.Contains(t, ask(adminToken, "/cards", `{"board": "x", "title": "x"}`).body, "acme/x are on the board issues")
}
