package dashboard

import (
	"net/http"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// Of which repository a route needs its right.
const (
	ofTask   access.Scope = "the task's"
	ofEffect access.Scope = "the effect's"
	ofEntry  access.Scope = "that of the entry's task; all for an entry without one"
	ofForm   access.Scope = "the one that the form names"
	ofOwed   access.Scope = "that of the task that the form names; all for a lane"
	ofPlace  access.Scope = "the board's"
	ofCard   access.Scope = "the card's"
)

// Routes are the rows of Handler, and the right that each needs.
func Routes(o Options) ([]access.Route, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	return s.routes(), nil
}

// get is a row for viewers.
func get(pattern string, of access.Scope, h http.HandlerFunc) access.Route {
	return access.Route{Method: "GET", Pattern: pattern, Needs: access.Viewer, Of: of, Handler: h}
}

func (s *server) routes() []access.Route {
	page := func(pattern string, of access.Scope, page func(*http.Request) (view, error)) access.Route {
		return get(pattern, of, s.show(page).ServeHTTP)
	}
	free := func(method, pattern string, h http.Handler) access.Route {
		return access.Route{Method: method, Pattern: pattern, Needs: access.Everybody, Of: access.Free, Handler: h}
	}
	missing := func(*http.Request) (view, error) { return view{}, notFound("There is no such page.") }
	out := []access.Route{
		page("/{$}", access.Some, s.board), page("/queue", access.Some, s.queue), page("/repos", access.Some, s.repos),
		page("/cost", access.Some, s.cost), page("/history", access.Some, s.history),
		get("/history/{kind}", access.Some, s.historyRows),
		page("/journal", access.Some, s.journal), page("/journal/{id}", ofEntry, s.moment),
		page("/tasks/{id}", ofTask, s.task), page("/tasks/{id}/runs/{run}/{attempt}", ofTask, s.run),
		get("/tasks/{id}/runs/{run}/{attempt}/log", ofTask, s.log),
		get("/tasks/{id}/runs/{run}/{attempt}/steps", ofTask, s.moreSteps),
		get("/tasks/{id}/ci", ofTask, s.ciLog),
		page("/tasks/{id}/documents/{name}", ofTask, s.document), page("/tasks/{id}/diff", ofTask, s.review),
		page("/tasks/{id}/review", ofTask, s.review), page("/review", access.Some, s.line),
		{
			Method: "POST", Pattern: "/tasks/{id}/decide", Needs: access.Approver, Of: ofTask,
			Handler: http.HandlerFunc(s.decide), Refuse: s.keepWords(s.taskAgain), Note: "Confirm Deploy needs a releaser",
		},
		{Method: "GET", Pattern: "/changes", Needs: access.Viewer, Of: access.Some, Stream: true, Handler: http.HandlerFunc(s.changes)},
		free("GET", "/session", http.HandlerFunc(s.session)),
		free("POST", "/session", limit.Finish(s.login)),
		free("POST", "/session/end", limit.Finish(s.logout)),
		free("GET", "/assets/{name}", http.HandlerFunc(s.asset)),
		{Pattern: "/", Needs: access.Viewer, Of: access.Some, Handler: s.show(missing)},
	}
	for _, a := range []struct {
		pattern string
		needs   access.Role
		of      access.Scope
		ask     func(*http.Request) (view, error) // whether it is meant
		do      func(*http.Request) (string, error)
	}{
		{"/tasks/{id}/retry", access.Operator, ofTask, s.confirmTask, s.order("retry", admin.Retry)},
		{"/tasks/{id}/undo", access.Operator, ofTask, s.confirmTask, s.order("undo", admin.Undo)},
		{"/tasks/{id}/stop", access.Operator, ofTask, s.confirmTask, s.doStop},
		{"/repos/unfreeze", access.Releaser, ofForm, s.confirmUnfreeze, s.doUnfreeze},
		{"/agents/resume", access.Operator, access.Every, s.confirmResume, s.doResume},
		{"/effects/hasten", access.Operator, ofOwed, s.confirmHasten, s.doHasten},
		{"/effects/{id}/again", access.Operator, ofEffect, s.confirmAgain, s.doAgain},
	} {
		out = append(out, page(a.pattern, a.of, a.ask), access.Route{
			Method: "POST", Pattern: a.pattern, Needs: a.needs, Of: a.of, Handler: s.act(a.do), Refuse: s.repeatQuestion(a.ask),
		})
	}
	if s.Access.Provider != nil {
		out = append(out,
			free("GET", "/session/provider", limit.Finish(s.sendAway)),
			free("GET", "/session/return", limit.Finish(s.comeBack)),
		)
	}
	if s.Cards != nil {
		out = append(out, s.cardRoutes()...)
	}
	return out
}

// cardRoutes are the pages of our own board.
func (s *server) cardRoutes() []access.Route {
	form := func(pattern string, of access.Scope, page func(*http.Request, typed) (view, error)) access.Route {
		return get(pattern, of, s.show(func(r *http.Request) (view, error) { return page(r, blank()) }).ServeHTTP)
	}
	change := func(
		pattern string, of access.Scope,
		page func(*http.Request, typed) (view, error), do func(*http.Request, cards.Person) (string, error),
	) access.Route {
		return access.Route{
			Method: "POST", Pattern: pattern, Needs: access.Operator, Of: of,
			Handler: s.changeCard(page, do), Refuse: s.keepWords(page),
		}
	}
	board := func(r *http.Request, _ typed) (view, error) { return s.ownBoard(r) }
	moved := func(w http.ResponseWriter, r *http.Request) { seeOther(w, root(r)+"?"+r.URL.RawQuery) } // where the board was once
	resend := func(r *http.Request, in typed) (view, error) { return unsent(r, in.Wrong), nil }
	out := []access.Route{
		get("/board", access.Some, moved),
		form("/board/new", ofPlace, s.showNew),
		form("/board/cards/{id}", ofCard, s.showCard),
		form("/board/cards/{id}/edit", ofCard, s.showEdit),
		change("/board/name", access.Some, board, s.doName),
		change("/board/new", ofPlace, s.showNew, s.doMake),
		change("/board/move", access.Some, resend, s.doMoveAll),
		change("/board/cards/{id}/edit", ofCard, s.showEdit, s.doEdit),
		change("/board/cards/{id}/move", ofCard, s.showCard, s.doMove),
		change("/board/cards/{id}/say", ofCard, s.showCard, s.doSay),
		change("/board/cards/{id}/comments/{comment}", ofCard, s.showCard, s.doAmend),
		change("/board/cards/{id}/arrange", ofCard, s.showCard, s.doArrange),
		change("/board/cards/{id}/files", ofCard, s.showCard, s.doAttach),
		change("/board/cards/{id}/files/{file}", ofCard, s.showCard, s.doDetach),
		get("/board/cards/{id}/files/{file}", ofCard, s.showFile),
	}
	for i, r := range out {
		if r.Pattern == "/board/cards/{id}/move" || r.Pattern == "/board/cards/{id}/say" {
			out[i].Note = "Approved and Rejected need an approver, Confirm Deploy a releaser"
		}
	}
	return out
}

func (s *server) mux() (*http.ServeMux, error) {
	repos := map[access.Scope]func(*http.Request) (string, error){
		ofTask: s.repoOfTask, ofEffect: s.repoOfEffect, ofEntry: s.repoOfEntry,
		ofForm: repoOfForm, ofOwed: s.repoOfOwed, ofPlace: s.repoOfPlace, ofCard: s.repoOfCard,
	}
	return s.Access.Mux(access.Table{Routes: s.routes(), Identify: s.identify, Refuse: s.refuse, Find: repos})
}

// taskOf is the task of the path.
func (s *server) taskOf(r *http.Request) (task.Task, error) {
	id, err := number(r, "id")
	if err != nil {
		return task.Task{}, err
	}
	return s.Engine.Store.Task(r.Context(), id)
}

func (s *server) repoOfTask(r *http.Request) (string, error) {
	t, err := s.taskOf(r)
	return t.Repo, err
}

func (s *server) repoOfEffect(r *http.Request) (string, error) {
	id, err := number(r, "id")
	if err != nil {
		return "", err
	}
	return admin.RepoOfEffect(r.Context(), s.Engine, id)
}

// id is that of the path, which the table of routes has looked at.
func id(r *http.Request) int64 {
	n, _ := number(r, "id")
	return n
}

func (s *server) repoOfEntry(r *http.Request) (string, error) {
	id, err := number(r, "id")
	if err != nil {
		return "", err
	}
	found, err := s.Engine.Records.JournalSince(r.Context(), id-1, 1)
	if err != nil || len(found) == 0 || found[0].TaskID == 0 {
		return "", err
	}
	t, err := s.Engine.Store.Task(r.Context(), found[0].TaskID)
	return t.Repo, err
}

func repoOfForm(r *http.Request) (string, error) { return r.FormValue("repo"), nil }

func (s *server) repoOfOwed(r *http.Request) (string, error) {
	if r.FormValue("lane") != "" {
		return "", nil
	}
	t, err := s.taskNamed(r, r.FormValue("task"))
	return t.Repo, err
}

func (s *server) repoOfPlace(r *http.Request) (string, error) {
	return s.placeOf(r.FormValue("project")).Repo, nil
}

func (s *server) repoOfCard(r *http.Request) (string, error) {
	story, err := s.Cards.Story(r.Context(), r.PathValue("id"))
	return s.placeOf(story.Project).Repo, err
}
