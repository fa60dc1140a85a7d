package dashboard

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/tracker/cards"
	"github.com/signalbox-dev/signalbox/tracker/mux"
)

// columnCards is how many cards a column of our own board shows.
const columnCards = 30

// place is a board of our own.
type place struct{ ID, Prefix, Repo string }

// key is the name of a card for people.
func (p place) key(number int64) string {
	name := "#" // its project is not registered any more
	if p.Prefix != "" {
		name = p.Prefix + "-"
	}
	return name + strconv.FormatInt(number, 10)
}

func (s *server) placeOf(id string) place {
	p, _ := s.Engine.Projects.ByTracker(id)
	return place{id, p.Prefix, p.Repo}
}

// cardView is a card in a list.
type cardView struct {
	cards.Card
	Key  string
	Task *card // its unfinished task; nil: none

	Above, Below string // the ids of its neighbours; empty: it is at the end
}

func (s *server) viewOf(c cards.Card) cardView {
	return cardView{Card: c, Key: s.placeOf(c.Project).key(c.Number)}
}

// cardColumn is a column with the cards that are first in it.
type cardColumn struct {
	cards.Column
	Cards []cardView
	Of    int // how many there are
}

// More is how many cards are not shown.
func (c cardColumn) More() int { return c.Of - len(c.Cards) }

// cardLane is a board of our own on its page.
type cardLane struct {
	Place   place
	Columns []cardColumn
	At      string // begins the ids of its columns on the page
}

// allPlaces stands for the project where boards are shown together.
const allPlaces = "*"

// laneCards is how many cards a column shows where there are several boards.
const laneCards = 10

// cardsPage is one board of our own, or all that may be read, each as a lane.
type cardsPage struct {
	Places   []place
	Place    place
	Shown    string // project of its address: that of Place, or allPlaces
	Lanes    []cardLane
	Bulk     []cards.Column // into which several cards may be moved at once
	Only     string         // the one column that is shown; empty: all
	Archived bool
	Text     string   // of key, title and labels
	Label    string   // that the cards have
	Labels   []string // to choose from
	Found    int
	Who      rights
	Tasks    boardPage
}

// On reports whether the board is narrowed.
func (p cardsPage) On() bool { return p.Text != "" || p.Label != "" }

// Grouped reports whether several boards are shown.
func (p cardsPage) Grouped() bool { return p.Shown == allPlaces }

// selects compares without regard to the case of letters.
func (p cardsPage) selects(at place, c cards.Card) bool {
	text := strings.ToLower(at.key(c.Number) + " " + c.Title + " " + c.Labels)
	return strings.Contains(text, strings.ToLower(p.Text)) && (p.Label == "" || slices.Contains(labelsIn(c.Labels), p.Label))
}

// lane makes the columns of a board.
func (p *cardsPage) lane(at place, list []cards.Card, tasks map[string]*card) (out cardLane) {
	out.Place = at
	most := columnCards
	if p.Grouped() {
		out.At, most = at.Prefix+"-", laneCards
	}
	for _, c := range cards.Columns() {
		if p.Only != "" && p.Only != c.Key {
			continue
		}
		column := cardColumn{Column: c}
		for _, one := range list {
			if one.Project != at.ID || one.Column != c.Key || !p.selects(at, one) {
				continue
			}
			if column.Of++; p.Only != "" || len(column.Cards) < most {
				v := cardView{Card: one, Key: at.key(one.Number), Task: tasks[one.ID]}
				if n := len(column.Cards); n > 0 {
					v.Above, column.Cards[n-1].Below = column.Cards[n-1].ID, one.ID
				}
				column.Cards = append(column.Cards, v)
			}
		}
		p.Found += column.Of
		out.Columns = append(out.Columns, column)
	}
	return out
}

// places lists our own boards that the reader may read.
func (s *server) places(ctx context.Context) (out []place) {
	for _, b := range access.Readable(ctx, s.Engine.Projects.Boards(), repoOfProject) {
		if s.isOwn(b.TrackerProject) {
			out = append(out, place{b.TrackerProject, b.Prefix, b.Repo})
		}
	}
	return out
}

// isOwn reports whether a project is on a board of our own, whose ids have no name of another in front.
func (s *server) isOwn(project string) bool { return s.Cards != nil && mux.Name(project) == "" }

func (s *server) ownBoard(r *http.Request) (none view, err error) {
	q := r.URL.Query()
	p := cardsPage{
		Only: q.Get("column"), Archived: q.Get("archived") != "", Who: rightsOf(r),
		Text: strings.TrimSpace(q.Get("q")), Label: q.Get("label"), Bulk: slices.DeleteFunc(cards.Columns(), isVerdict),
	}
	p.Places = s.places(r.Context())
	at := slices.IndexFunc(p.Places, func(b place) bool { return b.ID == q.Get("project") })
	if at < 0 && q.Get("project") != "" || len(p.Places) == 0 {
		return none, notFound("There is no such board.")
	}
	p.Place = p.Places[max(at, 0)]
	p.Shown = p.Place.ID
	shown, title := []place{p.Place}, "Board of "+p.Place.Prefix
	f := cards.Filter{Project: p.Place.ID} // all of them: labels are chosen from what there is
	if q.Get("group") == "repo" && at < 0 {
		p.Shown, shown, title, f.Project = allPlaces, p.Places, "Board by repository", ""
	}
	if p.Archived {
		f.State = cards.Archived
	}
	list, err := s.Cards.Cards(r.Context(), f)
	if err != nil {
		return none, err
	}
	var tasks map[string]*card
	if p.Tasks, tasks, err = s.tasks(r); err != nil {
		return none, err
	}
	for _, at := range shown {
		p.Lanes = append(p.Lanes, p.lane(at, list, tasks))
	}
	for _, one := range list {
		if slices.ContainsFunc(shown, func(at place) bool { return at.ID == one.Project }) {
			p.Labels = append(p.Labels, labelsIn(one.Labels)...)
		}
	}
	slices.Sort(p.Labels)
	p.Labels = slices.Compact(p.Labels)
	if len(p.Lanes[0].Columns) == 0 {
		return none, notFound("There is no such column.")
	}
	return view{Name: "cards", Script: "cards.js", Title: title, Nav: "board", Data: p}, nil
}

// earlierThan is how many comments stand on a page; those before them are folded.
const earlierThan = 4

// cardPage is one card with all that belongs to it.
type cardPage struct {
	Story     cards.Story
	Talk      []comment
	Earlier   []comment
	Files     []cardFile
	Key       string
	Place     place
	Column    cards.Column
	Columns   []cards.Column
	Wanted    []cards.Column // what the task waits for a person to set, beside a verdict
	BlockedBy []cardView
	Blocks    []cardView
	Others    []cardView // that it may wait for
	Log       []logLine  // newest first
	Who       rights
	Typed     typed
}

// showCard is the page of a card, with a task that of the task; in holds what was typed and not taken.
func (s *server) showCard(r *http.Request, in typed) (view, error) {
	story, err := s.Cards.Story(r.Context(), r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	t, err := orchestrator.NewestTask(r.Context(), s.Engine.Store, story.ID)
	if err != nil {
		return view{}, err
	}
	if t.ID != 0 {
		v, err := s.taskPage(r, t.ID, in)
		v.Nav = "board"
		return v, err
	}
	p, err := s.cardOf(r.Context(), story, in, rightsOf(r))
	if err != nil {
		return view{}, err
	}
	if at := p.Column.Key; at == cards.Backlog || at == string(stage.StatusBlocked) { // not begun, or refused
		begin, _ := cards.ColumnOf(string(stage.StatusToAnalyse))
		p.Wanted = []cards.Column{begin}
	}
	return view{Name: "card", Script: "cards.js", Title: p.Key + ": " + story.Title, Nav: "board", Data: p}, nil
}

// cardOf makes what a page shows of a card.
func (s *server) cardOf(ctx context.Context, story cards.Story, in typed, who rights) (p *cardPage, err error) {
	p = &cardPage{Story: story, Place: s.placeOf(story.Project), Columns: cards.Columns(), Who: who, Typed: in}
	p.Key = p.Place.key(story.Number)
	p.Column, _ = cards.ColumnOf(story.Column)
	reader := access.Of(ctx)
	me := cards.Person{Name: who.Name, Proof: reader.PersonProof()}
	for _, c := range story.Comments {
		mine := who.Open && c.DeletedBy == "" && c.IsOf(me)
		p.Talk = append(p.Talk, comment{c, mine, mine || c.DeletedBy == "" && reader.May(access.Admin, p.Place.Repo)})
	}
	for _, f := range story.Files {
		p.Files = append(p.Files, cardFile{f, who.Open && f.IsOf(me) || reader.May(access.Admin, p.Place.Repo)})
	}
	if n := len(p.Talk) - earlierThan; n > 1 {
		p.Earlier, p.Talk = p.Talk[:n], p.Talk[n:]
	}
	views := func(list []cards.Card) (out []cardView) {
		for _, c := range list {
			if !reader.Reads(s.placeOf(c.Project).Repo) {
				c.Title = ""
			}
			out = append(out, s.viewOf(c))
		}
		return out
	}
	p.BlockedBy, p.Blocks = views(story.BlockedBy), views(story.Blocks)
	for _, e := range slices.Backward(story.Log) {
		p.Log = append(p.Log, s.logLine(e, story))
	}
	p.Others, err = s.others(ctx, story)
	return p, err
}

// want fills in what a task waits for a person to set.
func (p *cardPage) want(t task.Task, why explain.Explanation) {
	for _, b := range why.Blockers {
		c, ok := cards.ColumnOf(string(b.Status))
		hinted := slices.Contains(p.Wanted, c) || slices.Contains(asked(t.State), c.Status)
		if ok && b.Who == admit.WhoYou && c.Key != p.Story.Column && !hinted {
			p.Wanted = append(p.Wanted, c)
		}
	}
}

// others are the cards that a card may wait for: those that are not done.
func (s *server) others(ctx context.Context, story cards.Story) (out []cardView, err error) {
	list, err := s.Cards.Cards(ctx, cards.Filter{Each: columnCards})
	reader := access.Of(ctx)
	for _, c := range list {
		over := c.Column == string(stage.StatusDone) || c.Column == string(stage.StatusStop)
		known := slices.ContainsFunc(story.BlockedBy, func(o cards.Card) bool { return o.ID == c.ID })
		if p := s.placeOf(c.Project); !over && !known && c.ID != story.ID && p.Prefix != "" && reader.Reads(p.Repo) {
			out = append(out, s.viewOf(c))
		}
	}
	return out, err
}

// cardForm is the page where a card is made or edited.
type cardForm struct {
	ID    string // empty: a new one
	Place place
	Key   string
	Who   rights
	Typed typed
	Now   *cards.Card // after a conflict: what it says now
}

func (s *server) showNew(r *http.Request, in typed) (view, error) {
	id := cmp.Or(r.PostForm.Get("project"), r.URL.Query().Get("project"))
	if _, known := s.Engine.Projects.ByTracker(id); !known {
		return view{}, notFound("There is no such board.")
	}
	form := cardForm{Place: s.placeOf(id), Who: rightsOf(r), Typed: in}
	return view{Name: "cardform", Script: "cards.js", Title: "New card", Nav: "board", Still: true, Data: form}, nil
}

func (s *server) showEdit(r *http.Request, in typed) (view, error) {
	story, err := s.Cards.Story(r.Context(), r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	f := cardForm{ID: story.ID, Place: s.placeOf(story.Project), Who: rightsOf(r), Typed: in}
	f.Key = f.Place.key(story.Number)
	switch {
	case in.Wrong == "":
		f.Typed.Title, f.Typed.Description, f.Typed.Labels, f.Typed.Version = story.Title, story.Description, story.Labels, story.Version
	case in.Conflict:
		f.Now, f.Typed.Version = &story.Card, story.Version
	}
	return view{Name: "cardform", Script: "cards.js", Title: "Edit " + f.Key, Nav: "board", Still: true, Data: f}, nil
}

// typed holds what a person has sent and was not taken, so that no word of it is lost: it
// stands in the fields again, and why above them.
type typed struct {
	Form     string // which form of the page; empty: none was sent
	Key      string // of the form, so that what is sent again is not made twice
	Wrong    string
	Conflict bool

	Title, Description, Labels, Body, Other, Name, Column string
	Start                                                 bool
	Version                                               int64
}

// blank is typed before anything was.
func blank() typed { return typed{Key: strings.ToLower(rand.Text())} }

func typedIn(form url.Values, wrong string) typed {
	t := blank()
	version, _ := strconv.ParseInt(form.Get("version"), 10, 64) // nonsense is a version that nobody has
	t.Form, t.Wrong, t.Key = form.Get("form"), wrong, cmp.Or(form.Get("key"), t.Key)
	t.Title, t.Description, t.Body, t.Other = form.Get("title"), form.Get("description"), form.Get("body"), form.Get("other")
	t.Name, t.Column, t.Start, t.Version = form.Get("name"), form.Get("column"), form.Get("start") != "", version
	t.Labels = form.Get("labels")
	return t
}

// cardAddress is the address of a card's page, relative to the beginning.
func cardAddress(id string) string { return "board/cards/" + url.PathEscape(id) }

// boardAddress is the address of a board.
func boardAddress(project string) string {
	if project == allPlaces {
		return "?group=repo"
	}
	return "?" + url.Values{"project": {project}}.Encode()
}
