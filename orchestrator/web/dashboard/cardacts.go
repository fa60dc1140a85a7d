package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

const (
	nameFor     = 365 * 24 * time.Hour
	cardFormMax = 2 << 20 // bytes of a form with a card's texts
)

const (
	wordsSignIn   = "You are not signed in. Sign in in another tab, or type a token too, and send it again: your words are still here."
	wordsConflict = "Somebody else has changed the card meanwhile. What it says now stands below. Save again to replace it with your words."
	wordsUnsaved  = "It is not saved, or the answer was lost: the database does not answer. Your words are still here: send them again."
)

// rights says what a reader of the board may do.
type rights struct {
	Name  string // who this is, as was typed once; empty: it is to be typed
	Known bool   // the name is that of a person who was identified, and cannot be typed
	Open  bool   // cards can be changed
	Token bool   // a token is to be typed
}

func rightsOf(r *http.Request) rights {
	p := access.Of(r.Context())
	out := rights{Open: p.MaySomewhere(access.Operator)}
	if out.Token = !out.Open; out.Open && !p.Shared {
		out.Name, out.Known = p.Name, true
		return out
	}
	out.Name, _ = cards.CleanName(access.TypedName(r))
	return out
}

// actor returns who has sent a form. A token that came with it begins a session.
func (s *server) actor(w http.ResponseWriter, r *http.Request) (by cards.Person, err error) {
	p, has := access.Of(r.Context()), rightsOf(r)
	if given := r.PostForm.Get("token"); given != "" && p.Via == access.ViaToken {
		if _, err := s.Access.SignIn(w, r, given, home(r)); err != nil {
			return by, err
		}
	}
	name := has.Name
	typed, given := r.PostForm["name"]
	if given && !has.Known {
		if name, err = cards.CleanName(typed[0]); err != nil {
			return by, err
		}
		c := access.Cookie(r, access.NameCookie, url.QueryEscape(name), home(r), nameFor)
		c.Name, c.Path = access.NameCookie, home(r) // it is no credential
		http.SetCookie(w, c)
	}
	name, err = cards.CleanName(name)
	return cards.Person{Name: name, Proof: p.PersonProof()}, err
}

// changeCard takes a form that changes the board. What is not taken is shown again, by page.
func (s *server) changeCard(
	page func(*http.Request, typed) (view, error), do func(*http.Request, cards.Person) (next string, err error),
) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by, err := s.actor(w, r)
		next := ""
		if err == nil {
			next, err = do(r, by)
		}
		if err == nil {
			seeOther(w, root(r)+next)
			return
		}
		s.showAgain(w, r, page, err)
	})
}

// keepWords shows a form again whose sender lacks the right, to those who may read its page.
func (s *server) keepWords(page func(*http.Request, typed) (view, error)) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		reader := s.reader(r)
		s.showAgain(w, r.WithContext(access.With(r.Context(), reader)), func(r *http.Request, in typed) (view, error) {
			if !reader.Reads("") {
				return view{}, err
			}
			return page(r, in)
		}, err)
	}
}

// showAgain shows what was typed, and why it is not taken.
func (s *server) showAgain(w http.ResponseWriter, r *http.Request, page func(*http.Request, typed) (view, error), err error) {
	wrong, status := s.objection(err)
	in := typedIn(r.PostForm, wrong)
	in.Conflict = errors.Is(err, cards.ErrConflict)
	v, failed := page(r, in)
	if failed != nil || status == http.StatusServiceUnavailable || status == http.StatusNotFound {
		v = unsent(r, wrong)
	}
	v.Status, v.Still = status, true
	s.render(w, r, s.frame(r, v))
}

// objection returns the words for an error of a change.
func (s *server) objection(err error) (wrong string, status int) {
	no, refused := errors.AsType[*access.Refusal](err)
	input, wrongly := errors.AsType[*cards.InputError](err)
	switch {
	case refused && no.Kind == "sign-in":
		return wordsSignIn, no.Status
	case wrongly:
		return input.Text, http.StatusUnprocessableEntity
	case errors.Is(err, cards.ErrConflict):
		return wordsConflict, http.StatusConflict
	case errors.Is(err, tracker.ErrNotFound):
		return "There is no such card any more. Your words are still here.", http.StatusNotFound
	}
	f := s.failureOf(err)
	if f.status == http.StatusServiceUnavailable {
		f.text = wordsUnsaved
	}
	return f.text, f.status
}

// unsentForm holds what was typed on a page that cannot be shown again.
type unsentForm struct {
	Wrong, Action string
	Fields        []unsentField
	Who           rights
}

type unsentField struct {
	Name, Value string
	Text        bool // it was typed, in a large field
}

// unsent is a page that needs nothing but what was sent.
func unsent(r *http.Request, wrong string) view {
	f := unsentForm{Wrong: wrong, Action: strings.TrimPrefix(r.URL.Path, "/"), Who: rightsOf(r)}
	for name, values := range r.PostForm {
		large := slices.Contains([]string{"body", "title", "description", "labels"}, name)
		for _, value := range values {
			if name != "token" {
				f.Fields = append(f.Fields, unsentField{name, value, large})
			}
		}
	}
	slices.SortFunc(f.Fields, func(a, b unsentField) int { return strings.Compare(b.Name, a.Name) }) // the title first
	return view{Name: "unsent", Script: "cards.js", Title: "Not saved yet", Nav: "board", Data: f}
}

func (s *server) doMake(r *http.Request, by cards.Person) (string, error) {
	f := r.PostForm
	c, err := s.desk().Make(r.Context(), cards.New{
		Key: f.Get("key"), Project: f.Get("project"), By: by,
		Title: f.Get("title"), Description: f.Get("description"), Labels: f.Get("labels"),
	}, f.Get("start") != "")
	return cardAddress(c.ID) + "?said=made", err
}

func (s *server) doEdit(r *http.Request, by cards.Person) (string, error) {
	id := r.PathValue("id")
	version, err := strconv.ParseInt(r.PostForm.Get("version"), 10, 64)
	if err != nil {
		return "", badRequest("The form has no version.")
	}
	story, err := s.Cards.Story(r.Context(), id)
	if err != nil {
		return "", err
	}
	f := r.PostForm
	err = s.desk().Edit(r.Context(), story.Project, cards.Edit{
		ID: id, Version: version, Title: f.Get("title"), Description: f.Get("description"), Labels: f.Get("labels"), By: by,
	})
	return cardAddress(id) + "?said=edited", err
}

// carryOut does something with a card, for who has the right to put it into the column.
func (s *server) carryOut(r *http.Request, a admin.Act) error {
	story, err := s.Cards.Story(r.Context(), a.Card)
	if err == nil {
		err = s.Access.Check(access.Of(r.Context()), access.ForColumn(stage.Status(a.Column)), s.placeOf(story.Project).Repo)
	}
	if err != nil {
		return err
	}
	a.Of = r.PostForm.Get("commit")
	return s.desk().Do(r.Context(), a)
}

func (s *server) doMove(r *http.Request, by cards.Person) (string, error) {
	id, back := r.PathValue("id"), r.PostForm.Get("back")
	if err := s.carryOut(r, admin.Act{Card: id, Column: r.PostForm.Get("column"), By: by}); err != nil {
		return "", err
	}
	if back != "" {
		return boardAddress(back) + "&said=moved#k-" + url.PathEscape(id), nil
	}
	return cardAddress(id) + "?said=moved", nil
}

// isVerdict reports whether a card comes into a column by a word about what was read, which is given card by card.
func isVerdict(c cards.Column) bool { return access.ForColumn(c.Status) != access.Operator }

// doMoveAll moves several cards into a column. Sent again, it moves those that are left.
func (s *server) doMoveAll(r *http.Request, by cards.Person) (string, error) {
	to, known := cards.ColumnOf(r.PostForm.Get("column"))
	chosen := r.PostForm["card"]
	switch {
	case len(chosen) == 0:
		return "", &cards.InputError{Text: "No card is chosen: tick those that are to be moved."}
	case !known || isVerdict(to):
		return "", &cards.InputError{Text: "Choose another column: a verdict is given card by card, beside what it is about."}
	}
	for n, id := range chosen {
		err := s.carryOut(r, admin.Act{Card: id, Column: to.Key, By: by})
		if wrong, is := errors.AsType[*cards.InputError](err); is {
			err = &cards.InputError{Text: fmt.Sprintf("%d of %d cards are moved. %s", n, len(chosen), wrong.Text)}
		}
		if err != nil {
			return "", err
		}
	}
	return boardAddress(r.PostForm.Get("back")) + "&said=moved#col-" + url.PathEscape(to.Key), nil
}

// doSay makes a comment, and then the move that goes with it.
func (s *server) doSay(r *http.Request, by cards.Person) (string, error) {
	id, column, body := r.PathValue("id"), r.PostForm.Get("column"), r.PostForm.Get("body")
	a := admin.Act{Card: id, Key: r.PostForm.Get("key"), Body: body, Column: column, By: by}
	verdict := access.ForColumn(stage.Status(column)) != access.Operator
	if strings.TrimSpace(body) == "" && !verdict {
		a.Column = "" // only a verdict may go without a comment
	}
	err := s.carryOut(r, a)
	if column != "" {
		said := map[bool]string{true: "decided", false: "moved"}[verdict]
		return cmp.Or(local(r.PostForm.Get("next")), cardAddress(id)) + "?said=" + said, err
	}
	return cardAddress(id) + "?said=said#talk", err
}

// doAmend replaces or deletes a comment.
func (s *server) doAmend(r *http.Request, by cards.Person) (string, error) {
	a := cards.Amendment{
		ID: r.PathValue("id"), Comment: r.PathValue("comment"), By: by,
		Body: r.PostForm.Get("body"), Delete: r.PostForm.Get("delete") != "",
	}
	repo, err := s.repoOfCard(r)
	if err == nil {
		err = s.desk().Amend(r.Context(), a, access.Of(r.Context()).May(access.Admin, repo))
	}
	return cardAddress(a.ID) + "?said=" + map[bool]string{true: "unsaid", false: "said"}[a.Delete] + "#c-" + url.PathEscape(a.Comment), err
}

func (s *server) doArrange(r *http.Request, by cards.Person) (string, error) {
	id, kind, other := r.PathValue("id"), r.PostForm.Get("kind"), r.PostForm.Get("other")
	for _, side := range []string{cards.PutBefore, cards.PutBehind} { // a button of the board's form
		if next := r.PostForm.Get(side); next != "" {
			kind, other = side, next
		}
	}
	if kind == cards.Blocked {
		boards := access.Readable(r.Context(), s.Engine.Projects.Boards(), repoOfProject)
		c, err := s.desk().Find(r.Context(), boards, other)
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
	if err := s.desk().Arrange(r.Context(), story.Project, cards.Arrangement{ID: id, Kind: kind, Other: other, By: by}); err != nil {
		return "", err
	}
	switch kind {
	case cards.PutBefore, cards.PutBehind:
		return boardAddress(cmp.Or(r.PostForm.Get("back"), story.Project)) + "#k-" + url.PathEscape(id), nil
	case cards.DeletedIt:
		e := cards.Entry{Card: id, Project: story.Project, N: int64(len(story.Log)) + 1, Kind: kind, By: by.Name, Proof: by.Proof}
		s.desk().Announce(r.Context(), e, tracker.HookItemRemoved)
		return boardAddress(story.Project) + "&said=deleted", nil
	}
	return cardAddress(id) + "?said=" + kind, nil
}

// doName keeps the name of a reader; actor has done it.
func (s *server) doName(r *http.Request, _ cards.Person) (string, error) {
	return local(r.PostForm.Get("next")), nil
}
