package dashboard

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

const (
	nameCookie   = "signalbox_name"
	nameFor      = 365 * 24 * time.Hour
	cardFormMax  = 2 << 20         // bytes of a form with a card's texts
	announceTime = 5 * time.Second // how long an event is tried to be stored
)

const (
	wordsElsewhere = "The board can only be read from here: ORCH_ADMIN_TOKEN is not set, so that cards are changed on the server's own machine alone."
	wordsSignIn    = "You are not signed in. Type the operator's token too, and send it again: your words are still here."
	wordsConflict  = "Somebody else has changed the card meanwhile. What it says now stands below. Save again to replace it with your words."
	wordsUnsaved   = "It is not saved, or the answer was lost: the database does not answer. Your words are still here: send them again."
)

// cardRoutes are the pages of our own board.
func (s *server) cardRoutes(mux *http.ServeMux) {
	form := func(page func(*http.Request, typed) (view, error)) http.Handler {
		return s.show(func(r *http.Request) (view, error) { return page(r, blank()) })
	}
	mux.Handle("GET /board", s.show(s.ownBoard))
	mux.Handle("GET /board/new", form(s.showNew))
	mux.Handle("GET /board/cards/{id}", form(s.showCard))
	mux.Handle("GET /board/cards/{id}/edit", form(s.showEdit))
	mux.Handle("POST /board/name", s.changeCard(func(r *http.Request, _ typed) (view, error) { return s.ownBoard(r) }, s.doName))
	mux.Handle("POST /board/new", s.changeCard(s.showNew, s.doMake))
	mux.Handle("POST /board/cards/{id}/edit", s.changeCard(s.showEdit, s.doEdit))
	mux.Handle("POST /board/cards/{id}/move", s.changeCard(s.showCard, s.doMove))
	mux.Handle("POST /board/cards/{id}/say", s.changeCard(s.showCard, s.doSay))
	mux.Handle("POST /board/cards/{id}/arrange", s.changeCard(s.showCard, s.doArrange))
}

// rights are what a reader of the board may do.
type rights struct {
	Name  string // who this is, as was typed once; empty: it is to be typed
	Open  bool   // cards can be changed
	Token bool   // the operator's token is to be typed
	Off   string // why nothing can be changed
}

func (s *server) rights(r *http.Request) rights {
	var out rights
	if c, err := r.Cookie(nameCookie); err == nil {
		if name, err := url.QueryUnescape(c.Value); err == nil {
			out.Name, _ = cards.CleanName(name)
		}
	}
	switch {
	case s.AdminToken == "" && fromHere(r), s.signedIn(r):
		out.Open = true
	case s.AdminToken == "":
		out.Off = wordsElsewhere
	default:
		out.Token = true
	}
	return out
}

// fromHere reports whether a request comes from this machine itself, and through no proxy
// that says so.
func fromHere(r *http.Request) bool {
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Forwarded", "Via"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	return isLoopback(r.RemoteAddr) && isLoopback(r.Host)
}

// isLoopback reports whether an address, with a port or without, is this machine's own.
func isLoopback(address string) bool {
	host := address
	if name, _, err := net.SplitHostPort(address); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// actor returns who has sent a form, or in wrong why the form is not taken.
func (s *server) actor(w http.ResponseWriter, r *http.Request) (by cards.Person, wrong string, status int) {
	has := s.rights(r)
	proof := stage.ProofNone
	switch {
	case has.Off != "":
		return by, has.Off, http.StatusForbidden
	case has.Token && r.PostForm.Get("token") == "":
		return by, wordsSignIn, http.StatusForbidden
	case has.Token:
		if wrong, status := s.checkToken(w, r); wrong != "" {
			s.refused(r)
			return by, wrong, status
		}
		http.SetCookie(w, s.cookie(r, cookieName, s.sign(s.Engine.Now().Add(sessionFor).Unix()), sessionFor))
	}
	if s.AdminToken != "" {
		proof = stage.ProofToken
	}
	name := has.Name
	if typed, given := r.PostForm["name"]; given {
		clean, err := cards.CleanName(typed[0])
		if err != nil {
			return by, err.Error(), http.StatusUnprocessableEntity
		}
		name = clean
		http.SetCookie(w, s.cookie(r, nameCookie, url.QueryEscape(name), nameFor))
	}
	if name == "" {
		_, err := cards.CleanName("")
		return by, err.Error(), http.StatusUnprocessableEntity
	}
	return cards.Person{Name: name, Proof: proof}, "", 0
}

// changeCard takes a form that changes the board. What is not taken is shown again, by page.
func (s *server) changeCard(page func(*http.Request, typed) (view, error), do func(*http.Request, cards.Person) (next string, err error)) http.Handler {
	return limit.Finish(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, cardFormMax)
		if err := r.ParseForm(); err != nil {
			s.render(w, s.frame(r, s.failed(&failure{http.StatusRequestEntityTooLarge, "The form is too large or cannot be read."})))
			return
		}
		next := ""
		by, wrong, status := s.actor(w, r)
		var err error
		if wrong == "" {
			next, err = do(r, by)
			wrong, status = s.objection(err)
		}
		if wrong == "" {
			seeOther(w, root(r)+next)
			return
		}
		in := typedIn(r.PostForm, wrong)
		in.Conflict = errors.Is(err, cards.ErrConflict)
		v, failed := page(r, in)
		if failed != nil || status == http.StatusServiceUnavailable || status == http.StatusNotFound {
			v = unsent(r, wrong)
		}
		v.Status, v.Still = status, true
		s.render(w, s.frame(r, v))
	})
}

// objection is what is said of an error of a change; empty: there is none.
func (s *server) objection(err error) (wrong string, status int) {
	var input *cards.InputError
	var page *failure
	switch {
	case err == nil:
		return "", 0
	case errors.As(err, &input):
		return input.Text, http.StatusUnprocessableEntity
	case errors.As(err, &page):
		return page.text, page.status
	case errors.Is(err, cards.ErrConflict):
		return wordsConflict, http.StatusConflict
	case errors.Is(err, tracker.ErrNotFound):
		return "There is no such card any more. Your words are still here.", http.StatusNotFound
	default:
		s.Log.Error("the board could not be changed", "err", err, "retryable", fault.Retryable(err))
		return wordsUnsaved, http.StatusServiceUnavailable
	}
}

// unsentForm is what was typed on a page that cannot be shown again.
type unsentForm struct {
	Wrong, Action string
	Fields        []unsentField
}

type unsentField struct {
	Name, Value string
	Text        bool // it was typed, in a large field
}

// unsent is a page that needs nothing but what was sent.
func unsent(r *http.Request, wrong string) view {
	f := unsentForm{Wrong: wrong, Action: strings.TrimPrefix(r.URL.Path, "/")}
	for name, values := range r.PostForm {
		if name != "token" {
			f.Fields = append(f.Fields, unsentField{name, values[0], name == "body" || name == "title" || name == "description"})
		}
	}
	slices.SortFunc(f.Fields, func(a, b unsentField) int { return strings.Compare(b.Name, a.Name) }) // the title first
	return view{Name: "unsent", Script: "cards.js", Title: "Not saved yet", Nav: "cards", Data: f}
}

// announce passes a move to the engine. When its event cannot be stored the reconciler finds
// the move on the board: that is no reason to refuse what is on the disk.
func (s *server) announce(r *http.Request, e cards.Entry, kind string) {
	h := tracker.Hook{
		Kind: kind, Event: "board." + e.Kind, ProjectID: e.Project, ItemID: e.Card, ActorID: e.By, Actor: tracker.Person{ID: e.By, Name: e.By},
		Self: strings.HasPrefix(e.By, cards.Service), Status: e.Kind == cards.Moved, To: e.To, At: e.At, Via: stage.ViaBoard, Proof: e.Proof,
	}
	ctx, cancel := s.Engine.Scheduler.WithTimeout(r.Context(), announceTime)
	defer cancel()
	if err := s.Engine.Announce(ctx, s.CardsSource, e.Delivery(), h); err != nil {
		s.Log.Warn("the event of a change on the board is not stored; the reconciler finds it", "item", e.Card, "err", err)
	}
}

func (s *server) doMake(r *http.Request, by cards.Person) (string, error) {
	f := r.PostForm
	if _, known := s.Engine.Projects.ByTracker(f.Get("project")); !known {
		return "", notFound("There is no such board.")
	}
	c, e, err := s.Cards.Make(r.Context(), cards.New{Key: f.Get("key"), Project: f.Get("project"), Title: f.Get("title"), Description: f.Get("description"), By: by})
	if err != nil {
		return "", err
	}
	s.announce(r, e, tracker.HookItemCreated)
	if f.Get("start") != "" {
		if err := s.move(r, c.ID, string(stage.StatusToAnalyse), by); err != nil {
			return "", err
		}
	}
	return cardAddress(c.ID) + "?said=made", nil
}

func (s *server) doEdit(r *http.Request, by cards.Person) (string, error) {
	id := r.PathValue("id")
	version, err := strconv.ParseInt(r.PostForm.Get("version"), 10, 64)
	if err != nil {
		return "", badRequest("The form has no version.")
	}
	err = s.Cards.Edit(r.Context(), cards.Edit{ID: id, Version: version, Title: r.PostForm.Get("title"), Description: r.PostForm.Get("description"), By: by})
	return cardAddress(id) + "?said=edited", err
}

func (s *server) move(r *http.Request, id, column string, by cards.Person) error {
	e, err := s.Cards.Move(r.Context(), id, column, by)
	if err == nil && e.Kind == cards.Moved {
		s.announce(r, e, tracker.HookItemUpdated)
	}
	return err
}

func (s *server) doMove(r *http.Request, by cards.Person) (string, error) {
	id, back := r.PathValue("id"), r.PostForm.Get("back")
	if err := s.move(r, id, r.PostForm.Get("column"), by); err != nil {
		return "", err
	}
	if back != "" {
		return boardAddress(back) + "&said=moved#k-" + url.PathEscape(id), nil
	}
	return cardAddress(id) + "?said=moved", nil
}

// doSay makes a comment, and then the move that goes with it: of a rejection the newest
// comment is the reason.
func (s *server) doSay(r *http.Request, by cards.Person) (string, error) {
	id, column := r.PathValue("id"), r.PostForm.Get("column")
	if err := s.Cards.Say(r.Context(), cards.Saying{ID: id, Key: r.PostForm.Get("key"), Body: r.PostForm.Get("body"), By: by}); err != nil {
		return "", err
	}
	if column != "" {
		if err := s.move(r, id, column, by); err != nil {
			return "", err
		}
		return cardAddress(id) + "?said=moved#talk", nil
	}
	return cardAddress(id) + "?said=said#talk", nil
}

func (s *server) doArrange(r *http.Request, by cards.Person) (string, error) {
	id, kind, other := r.PathValue("id"), r.PostForm.Get("kind"), r.PostForm.Get("other")
	if kind == cards.Blocked {
		c, err := s.byKey(r.Context(), other)
		if err != nil {
			return "", err
		}
		other = c.ID
	}
	if kind == cards.ArchivedIt {
		live, err := s.Engine.Store.Tasks(r.Context(), task.Filter{TrackerIssueID: id, Live: true})
		if err != nil {
			return "", err
		}
		if len(live) > 0 {
			return "", &cards.InputError{Text: "The task of the card is not over: stop it first."}
		}
	}
	story, err := s.Cards.Story(r.Context(), id)
	if err != nil {
		return "", err
	}
	if err := s.Cards.Arrange(r.Context(), cards.Arrangement{ID: id, Kind: kind, Other: other, By: by}); err != nil {
		return "", err
	}
	switch kind {
	case cards.Blocked, cards.Unblocked:
		s.Engine.Heard(tracker.Hook{Kind: tracker.HookItemUpdated, Event: "board." + kind, ProjectID: story.Project, ItemID: id})
	case cards.DeletedIt:
		return boardAddress(story.Project) + "&said=deleted", nil
	}
	return cardAddress(id) + "?said=" + kind, nil
}

// doName keeps the name of a reader; actor has done it.
func (s *server) doName(r *http.Request, _ cards.Person) (string, error) {
	return local(r.PostForm.Get("next")), nil
}
