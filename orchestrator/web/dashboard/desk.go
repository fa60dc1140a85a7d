package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

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
	story     *cards.Story // of that card
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
		d.Unread = documents.Unreadable(err)
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
	story, err := s.Cards.Story(r.Context(), task.OriginalKey(t.TrackerIssueID))
	if errors.Is(err, tracker.ErrNotFound) {
		return d, nil
	}
	d.Card, d.story = cardAddress(story.ID), &story
	return d, err
}

// asked are the words that a task waits for a person to decide by.
func asked(st stage.State) []stage.Status {
	return slices.DeleteFunc(documents.Words(st), func(word stage.Status) bool { return word == stage.StatusInProgress })
}

// paper is a page that shows what a task's branch has.
type paper struct {
	Task     task.Task
	Desk     desk
	Text     documents.Text
	HTML     template.HTML
	Decision documents.Decision
	Papers   []paper // of the stage, to be read first
	Since    []fileView
	Files    []fileView
	More     int    // files that are not shown
	Only     string // the file that was chosen
}

// Limits of a page with a diff; a file that is chosen is shown whole.
const (
	filesShown = 200
	fileShown  = 6 << 10  // bytes of the text of a file
	textShown  = 40 << 10 // of all
	filesOpen  = 3        // beside those that a person has to see
	paperShown = 12 << 10 // bytes of a document beside others
)

// fileView is a file of a diff, by its lines.
type fileView struct {
	documents.File
	ID             string
	Lines          []diffLine
	Added, Removed int
	More           bool // lines are left out
	Open           bool
	Asks           bool // for a comment on the file
}

type diffLine struct{ Class, Text string }

// viewFiles makes views of the files of a diff.
func viewFiles(d *documents.Diff, id, only string) (out []fileView, more int) {
	left := textShown
	for n, f := range d.Files {
		if only != "" && f.Path != only || len(out) == filesShown {
			more++
			continue
		}
		v := fileView{File: f, ID: fmt.Sprintf("%s%d", id, n), Open: f.Protected || n < filesOpen || only != ""}
		v.Added, v.Removed = f.Lines()
		shown := 0
		_, _, begins := strings.Cut(f.Text, "\n@@ ")
		for line := range strings.Lines(f.Text) {
			begins = begins && line[0] != '@'
			if v.More = only == "" && (shown > fileShown || left < 0); v.More {
				break
			}
			shown, left = shown+len(line), left-len(line)
			v.Lines = append(v.Lines, diffLine{diffClass(line, begins), line})
		}
		out = append(out, v)
	}
	return out, more
}

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
		return view{}, notFound(documents.Unreadable(err))
	}
	if p.Desk.Here = p.Text.Name; strings.HasSuffix(p.Text.Name, ".md") {
		p.HTML = s.markdown(p.Text.Text)
	}
	return view{Name: "document", Title: p.Text.Name + " of " + item(p.Task.WorkItemID), Nav: "board", Still: true, Data: p}, nil
}

// rendered is a text as a page shows it; without a renderer as it was written.
func (s *server) rendered(text string) template.HTML {
	if s.Markdown == nil {
		return template.HTML(`<p class="text">` + template.HTMLEscapeString(text) + "</p>")
	}
	return `<div class="doc">` + s.Markdown(text) + "</div>"
}

// review is the page that a task is decided on: all that is asked, at a commit. ?file= shows one file whole.
func (s *server) review(r *http.Request) (none view, err error) {
	p, err := s.paperOf(r)
	if err != nil {
		return none, err
	}
	q := r.URL.Query()
	p.Only = q.Get("file")
	if p.Decision, err = s.reading().Decision(r.Context(), p.Task, q.Get("commit"), access.Of(r.Context()).Reads); err != nil {
		return none, err
	}
	if p.Decision.Unread != "" && q.Get("commit") != "" {
		return none, notFound(p.Decision.Unread)
	}
	p.Desk.Here = "diff"
	if d := p.Decision.Since; d != nil && p.Only == "" {
		p.Since, _ = viewFiles(d, "s", "")
	}
	if d := p.Decision.Diff; d != nil {
		p.Files, p.More = viewFiles(d, "f", p.Only)
	}
	asks := len(p.Desk.Choices) > 0 && p.Desk.Head == ""
	for i := range p.Since {
		p.Since[i].Asks = asks
	}
	for i, f := range p.Files {
		seen := slices.ContainsFunc(p.Since, func(o fileView) bool { return o.Path == f.Path })
		p.Files[i].Asks, p.Files[i].Open = asks && !seen, f.Open && len(p.Since) == 0
	}
	for _, d := range p.Decision.Documents {
		if d.Stage != p.Task.State.Stage || d.Size > paperShown || p.Only != "" {
			continue
		}
		text, err := s.reading().Read(r.Context(), p.Task, d.Name, p.Decision.Commit)
		if err != nil {
			return none, notFound(documents.Unreadable(err))
		}
		p.Papers = append(p.Papers, paper{Text: text, HTML: s.markdown(text.Text)})
		for i, f := range p.Files { // it was shown
			p.Files[i].Open = f.Open && !strings.HasSuffix(f.Path, "/"+item(p.Task.WorkItemID)+"/"+d.Name)
		}
	}
	return view{Name: "review", Title: "Review of " + item(p.Task.WorkItemID), Nav: "review", Still: true, Data: p}, nil
}

// asking is a line of what waits for a person's word.
type asking struct {
	documents.Decision
	Own  bool   // Card is on our own board
	Root string // of the page
	Who  rights
	At   time.Time
}

// asking makes lines of decisions.
func (s *server) asking(r *http.Request, list []documents.Decision) (out []asking) {
	for _, d := range list {
		out = append(out, asking{d, d.Card != "" && s.isOwn(d.Project), root(r), rightsOf(r), s.Engine.Now()})
	}
	return out
}

// line is the page of all that waits for a person's word.
func (s *server) line(r *http.Request) (view, error) {
	list, err := s.reading().Decisions(r.Context(), access.Of(r.Context()).Reads)
	return view{Name: "line", Title: "Needs you", Nav: "review", Data: s.asking(r, list)}, err
}

// joinComments makes comments on files a part of the words of a form.
func joinComments(form url.Values) {
	for i, text := range form["on"] {
		if paths := form["path"]; strings.TrimSpace(text) != "" && i < len(paths) {
			form.Set("body", strings.TrimSpace(form.Get("body")+"\n\n`"+strings.ReplaceAll(paths[i], "`", "")+"`: "+text))
		}
	}
	form.Del("on")
	form.Del("path")
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
	word := stage.Status(r.PostForm.Get("column"))
	need, p, who := access.ForColumn(word), access.Of(r.Context()), byPage(r)
	on, ok := stage.BoardTrigger(word)
	if !ok || need == access.Operator {
		return "", badRequest("The form has no decision.")
	}
	if err := s.Access.Check(p, need, t.Repo); err != nil {
		return "", err
	}
	who.Proof = p.PersonProof()
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
