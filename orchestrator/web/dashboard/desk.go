package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/documents"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// desk holds what a person decides a task by: what there is to read at a commit, and the form whose word is
// of that commit.
type desk struct {
	Task      int64
	Commit    string
	Head      string // of the task, where that is another one
	Documents []documents.Document
	Here      string         // the document that is shown; "diff" for the changes
	Unread    string         // why nothing can be read
	Choices   []cards.Column // words that are asked for; empty = none is
	Card      string         // address of the task's card on a board of our own; empty = it is elsewhere
	Questions bool           // are open
	Next      string
	Who       rights
	Typed     typed
}

// Action is where the form is posted: a card of ours keeps who has decided, as a move does.
func (d desk) Action() string {
	if d.Card != "" {
		return d.Card + "/say"
	}
	return fmt.Sprintf("tasks/%d/decide", d.Task)
}

func (s *server) desk() admin.Desk {
	return admin.Desk{Engine: s.Engine, Cards: s.Cards, Source: s.CardsSource}
}

func (s *server) reading() documents.Reader {
	return documents.Reader{Engine: s.Engine, Redactor: s.Redactor}
}

func (s *server) deskOf(r *http.Request, t task.Task, in typed) (desk, error) {
	d := desk{
		Task: t.ID, Next: strings.TrimPrefix(r.URL.Path, "/"), Questions: t.State.Hold == stage.HoldNeedsInput,
		Who: rightsOf(r), Typed: in,
	}
	if r.Method != http.MethodGet {
		d.Next = fmt.Sprintf("tasks/%d", t.ID)
	}
	list, err := s.reading().List(r.Context(), t, r.URL.Query().Get("commit"))
	if d.Commit, d.Documents = list.Commit, list.Documents; err != nil {
		d.Unread = unreadable(err)
	}
	if d.Commit != t.State.Head {
		d.Head = t.State.Head
	}
	for _, word := range asked(t.State) {
		column, _ := cards.ColumnOf(string(word))
		d.Choices = append(d.Choices, column)
	}
	if s.Cards == nil {
		return d, nil
	}
	_, err = s.Cards.Story(r.Context(), task.OriginalKey(t.TrackerIssueID))
	if errors.Is(err, tracker.ErrNotFound) {
		return d, nil
	}
	d.Card = cardAddress(task.OriginalKey(t.TrackerIssueID))
	return d, err
}

// asked are the words that a task waits for a person to decide by.
func asked(st stage.State) []stage.Status {
	_, on := stage.Remedy(st)
	switch {
	case st.Stage.Terminal() || st.Active != "" || st.Hold != stage.HoldApproval && st.Hold != stage.HoldConfirm:
		return nil
	case on == stage.StatusInProgress: // there is nothing to approve
		return []stage.Status{stage.StatusRejected}
	default:
		return []stage.Status{on, stage.StatusRejected}
	}
}

// unreadable says why what a branch has is not shown.
func unreadable(err error) string {
	var none *documents.NotFoundError
	var gone *orchestrator.UnregisteredError
	switch {
	case errors.As(err, &none):
		return none.Text
	case errors.As(err, &gone):
		return gone.Error()
	default:
		return "The mirror of the repository does not have the commit at the moment."
	}
}

// paper is a page that shows what a task's branch has.
type paper struct {
	Task  task.Task
	Desk  desk
	Text  documents.Text
	HTML  template.HTML
	Diff  documents.Diff
	Files []fileView
}

// fileView is a file of a diff, by its lines.
type fileView struct {
	documents.File
	Lines []diffLine
}

type diffLine struct{ Class, Text string }

func (s *server) paperOf(r *http.Request) (p paper, err error) {
	if p.Task, err = s.taskOf(r); err == nil {
		p.Desk, err = s.deskOf(r, p.Task, blank())
	}
	return p, err
}

func (s *server) document(r *http.Request) (view, error) {
	p, err := s.paperOf(r)
	if err != nil {
		return view{}, err
	}
	if p.Text, err = s.reading().Read(r.Context(), p.Task, r.PathValue("name"), r.URL.Query().Get("commit")); err != nil {
		return view{}, notFound(unreadable(err))
	}
	if p.Desk.Here = p.Text.Name; strings.HasSuffix(p.Text.Name, ".md") {
		p.HTML = s.markdown(p.Text.Text)
	}
	return view{Name: "document", Title: p.Text.Name + " of " + item(p.Task.WorkItemID), Nav: "board", Still: true, Data: p}, nil
}

// markdown renders a text; without a renderer it is shown as it was written.
func (s *server) markdown(text string) template.HTML {
	if s.Markdown == nil {
		return template.HTML(`<p class="text">` + template.HTMLEscapeString(text) + "</p>")
	}
	return `<div class="doc">` + s.Markdown(text) + "</div>"
}

func (s *server) diff(r *http.Request) (view, error) {
	p, err := s.paperOf(r)
	if err != nil {
		return view{}, err
	}
	if p.Diff, err = s.reading().Diff(r.Context(), p.Task, r.URL.Query().Get("commit")); err != nil {
		return view{}, notFound(unreadable(err))
	}
	p.Desk.Here = "diff"
	for _, f := range p.Diff.Files {
		v := fileView{File: f}
		_, _, begins := strings.Cut(f.Text, "\n@@ ")
		for line := range strings.Lines(f.Text) {
			begins = begins && line[0] != '@'
			v.Lines = append(v.Lines, diffLine{diffClass(line, begins), line})
		}
		p.Files = append(p.Files, v)
	}
	return view{Name: "diff", Title: "What " + item(p.Task.WorkItemID) + " changes", Nav: "board", Still: true, Data: p}, nil
}

// diffClass is how a line of a diff is shown; those in front of the first hunk name the file.
func diffClass(line string, begins bool) string {
	classes := map[byte]string{'+': "add", '-': "del", ' ': "same"}
	return cmp.Or(map[bool]string{true: "hunk"}[begins], classes[line[0]], "hunk")
}

// doDecide takes the word of a form about a task whose card is elsewhere.
func (s *server) doDecide(r *http.Request) (string, error) {
	t, err := s.taskOf(r)
	if err != nil {
		return "", err
	}
	need, p, who := access.ForColumn(stage.Status(r.PostForm.Get("column"))), access.Of(r.Context()), byPage(r)
	on, ok := stage.BoardTrigger(stage.Status(r.PostForm.Get("column")))
	if !ok || need == access.Operator {
		return "", badRequest("The form has no decision.")
	}
	if err := s.Access.Check(p, need, t.Repo); err != nil {
		return "", err
	}
	if p.Shared {
		who.Proof = stage.ProofNone
	}
	err = admin.Decide(r.Context(), s.Engine, t.ID, admin.Word{On: on, Why: r.PostForm.Get("body"), Of: r.PostForm.Get("commit")}, who)
	return fmt.Sprintf("tasks/%d?said=decided", t.ID), err
}

// decide carries a decision out; what is not taken is shown again, with its words, on the page of the task.
func (s *server) decide(w http.ResponseWriter, r *http.Request) {
	next, err := s.doDecide(r)
	if err != nil {
		s.showAgain(w, r, s.taskAgain, err)
		return
	}
	seeOther(w, root(r)+next)
}
