package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

const (
	ofCard  access.Scope = "the card's"
	ofBoard access.Scope = "the board's"
)

// cardMax bounds the body of a request with a card's texts, in bytes.
const cardMax = 2 << 20

// attachMax bounds that of a request with a file, in base64.
const attachMax = cards.FileMax*4/3 + bodyMax

// CardList is the answer of GET /cards: by board and column, in the order of the board.
type CardList struct {
	Cards []cardView `json:"cards"`
}

// cardView is a card of a board of our own.
type cardView struct {
	ID       string    `json:"id"`
	Key      string    `json:"key"` // its name for people, such as APP-7
	Board    string    `json:"board"`
	Repo     string    `json:"repo"`
	Title    string    `json:"title"`
	Labels   string    `json:"labels,omitempty"` // with ", " between them
	Column   string    `json:"column"`
	Archived bool      `json:"archived,omitempty"`
	Version  int64     `json:"version"` // of title, description and labels
	MadeBy   string    `json:"made_by"`
	MadeAt   time.Time `json:"made_at"`
	MovedAt  time.Time `json:"moved_at"`
}

// CardDetail is the answer of the routes of one card.
type CardDetail struct {
	cardView
	Description string        `json:"description"`
	Comments    []commentView `json:"comments"` // oldest first
	Files       []fileView    `json:"files"`    // as well; /dashboard/board/cards/{id}/files/{file} has what is in one
	BlockedBy   []string      `json:"blocked_by,omitempty"`
}

// commentView is a comment on a card.
type commentView struct {
	ID        string    `json:"id"`
	Author    string    `json:"author"`
	Service   bool      `json:"service,omitempty"`
	At        time.Time `json:"at"`
	Body      string    `json:"body"` // Markdown
	EditedAt  time.Time `json:"edited_at,omitzero"`
	DeletedBy string    `json:"deleted_by,omitempty"` // its body is empty
}

// fileView is a file on a card. A text of the card shows an image as ![words](files/{id}).
type fileView struct {
	ID   string    `json:"id"`
	Name string    `json:"name"`
	Type string    `json:"type"`
	Size int64     `json:"size"` // in bytes
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

// MoveList is the answer of POST /cards/move, in the order of the request.
type MoveList struct {
	Cards []movedView `json:"cards"`
}

// movedView tells what has come of the move of a card.
type movedView struct {
	Card    string `json:"card"`              // as it was sent
	Column  string `json:"column,omitempty"`  // where it stands; empty: it was not moved
	Problem string `json:"problem,omitempty"` // why not
}

// LogValue names the card: its texts are not for the log.
func (c CardDetail) LogValue() slog.Value { return slog.StringValue(c.Key) }

func (s *server) cardRoutes(row func(method, pattern string, needs access.Role, of access.Scope, v view) access.Route) []access.Route {
	out := []access.Route{
		row("GET", "/cards", access.Viewer, access.Some, s.cards),
		row("POST", "/cards", access.Operator, ofBoard, s.makeCard),
		row("POST", "/cards/move", access.Operator, access.Some, s.moveCards),
		row("GET", "/cards/{card}", access.Viewer, ofCard, s.card),
		row("PUT", "/cards/{card}", access.Operator, ofCard, s.editCard),
		row("POST", "/cards/{card}", access.Operator, ofCard, s.actOnCard),
		row("PUT", "/cards/{card}/comments/{comment}", access.Operator, ofCard, s.amend),
		row("DELETE", "/cards/{card}/comments/{comment}", access.Operator, ofCard, s.amend),
		row("POST", "/cards/{card}/files", access.Operator, ofCard, s.attach),
		row("DELETE", "/cards/{card}/files/{file}", access.Operator, ofCard, s.detach),
	}
	out[9].Note = "of who has put it there; an administrator removes any"
	out[6].Note, out[7].Note = "of its author only", "of its author only; an administrator deletes any"
	out[5].Note = "Approved and Rejected need an approver, Confirm Deploy a releaser"
	return out
}

// boardNamed returns the board of our own that is called by its prefix or its project; the only one without a name.
func (s *server) boardNamed(name string) (found task.Project, err error) {
	boards := s.Engine.Projects.Boards()
	for _, p := range boards {
		switch {
		case p.TrackerProject == name:
			return p, nil
		case !strings.EqualFold(p.Prefix, name) && (name != "" || len(boards) > 1):
		case found.Repo != "":
			err = badPayload(fmt.Sprintf("board: several have the prefix %.40s: write the tracker_project of one.", name))
		default:
			found = p
		}
	}
	if found.Repo == "" {
		err = badPayload(fmt.Sprintf("board: there is no board %.40q: write the prefix of its cards.", name))
	}
	return found, err
}

// cardNamed is the card of the path, which names it by its key or its id.
func (s *server) cardNamed(r *http.Request) (cards.Card, error) {
	if s.Desk.Cards == nil {
		return cards.Card{}, noBoard()
	}
	return s.cardCalled(r, r.PathValue("card"))
}

// find finds a card of the repositories that may be read.
func (s *server) find(r *http.Request, name string) (cards.Card, error) {
	boards := access.Readable(r.Context(), s.Engine.Projects.Boards(), func(p task.Project) string { return p.Repo })
	return s.Desk.Find(r.Context(), boards, name)
}

func (s *server) cardCalled(r *http.Request, name string) (cards.Card, error) {
	c, err := s.find(r, name)
	if _, unknown := errors.AsType[*cards.InputError](err); unknown && c.ID == "" {
		var story cards.Story
		story, err = s.Desk.Cards.Story(r.Context(), name)
		c = story.Card
	}
	return c, err
}

func noBoard() error {
	return refusal(http.StatusNotFound, "feature-off", "This program keeps no board of its own (ORCH_TRACKER=board).")
}

func (s *server) viewOf(c cards.Card) cardView {
	p, _ := s.Engine.Projects.ByTracker(c.Project)
	return cardView{
		ID: c.ID, Key: fmt.Sprintf("%s-%d", p.Prefix, c.Number), Board: c.Project, Repo: p.Repo, Title: c.Title,
		Labels: c.Labels, Column: c.Column,
		Archived: c.State == cards.Archived, Version: c.Version, MadeBy: c.MadeBy, MadeAt: c.MadeAt, MovedAt: c.MovedAt,
	}
}

func (s *server) cards(r *http.Request) (any, error) {
	q := r.URL.Query()
	if s.Desk.Cards == nil {
		return nil, noBoard()
	}
	f := cards.Filter{}
	if q.Get("archived") == "true" {
		f.State = cards.Archived
	}
	if name := q.Get("board"); name != "" {
		p, err := s.boardNamed(name)
		switch {
		case p.Repo == "":
			return nil, refusal(http.StatusNotFound, "no-board", fmt.Sprintf("There is no board %.40q.", name))
		case err != nil:
			return nil, err
		}
		f.Project = p.TrackerProject
	}
	list, err := s.Desk.Cards.Cards(r.Context(), f)
	out := CardList{Cards: []cardView{}}
	for _, c := range list {
		if v := s.viewOf(c); access.Of(r.Context()).Reads(v.Repo) && (q.Get("column") == "" || q.Get("column") == c.Column) {
			out.Cards = append(out.Cards, v)
		}
	}
	return out, err
}

// written decodes what changes a card into a value, of which DELETE has none, and returns who has sent it.
func written(r *http.Request, into any) (by cards.Person, err error) {
	p := access.Of(r.Context())
	by.Proof = p.PersonProof()
	if by.Name, err = cards.CleanName(cmp.Or(called(r), p.Name)); err != nil || r.Method == http.MethodDelete {
		return by, err
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return by, badPayload("The body is no JSON of this request: " + err.Error() + ".")
	}
	return by, nil
}

func (s *server) makeCard(r *http.Request) (any, error) {
	var in struct {
		Key, Board, Title, Description, Labels string
		Begin, Once                            bool
	}
	by, err := written(r, &in)
	if err != nil {
		return nil, err
	}
	if s.Desk.Cards == nil {
		return nil, noBoard()
	}
	if in.Once && in.Key == "" {
		return nil, badPayload("key: is empty, and once makes a card by it.")
	}
	p, _ := s.boardNamed(in.Board)
	c, err := s.Desk.Make(r.Context(), cards.New{
		Key: in.Key, Once: in.Once, Project: p.TrackerProject, Title: in.Title, Description: in.Description, Labels: in.Labels, By: by,
	}, in.Begin)
	if err != nil {
		return nil, err
	}
	return s.detail(r, c.ID)
}

func (s *server) card(r *http.Request) (any, error) {
	c, err := s.cardNamed(r)
	if err != nil {
		return nil, err
	}
	return s.detail(r, c.ID)
}

func (s *server) detail(r *http.Request, id string) (any, error) {
	story, err := s.Desk.Cards.Story(r.Context(), id)
	out := CardDetail{cardView: s.viewOf(story.Card), Description: story.Description, Comments: []commentView{}, Files: []fileView{}}
	for _, f := range story.Files {
		out.Files = append(out.Files, fileView{f.ID, f.Name, f.Type, f.Size, f.By.Name, f.At})
	}
	for _, c := range story.Comments {
		out.Comments = append(out.Comments, commentView{c.ID, c.Author, c.Service, c.At, c.Body, c.EditedAt, c.DeletedBy})
	}
	for _, c := range story.BlockedBy {
		out.BlockedBy = append(out.BlockedBy, s.viewOf(c).Key)
	}
	return out, err
}

// change has the card of the path changed by who has sent a body that is decoded into a value, and answers with what it is then.
func (s *server) change(r *http.Request, into any, do func(c cards.Card, by cards.Person) error) (any, error) {
	by, err := written(r, into)
	if err != nil {
		return nil, err
	}
	c, err := s.cardNamed(r)
	if err == nil {
		err = do(c, by)
	}
	if err != nil {
		return nil, err
	}
	return s.detail(r, c.ID)
}

func (s *server) editCard(r *http.Request) (any, error) {
	var in struct {
		Version                    int64
		Title, Description, Labels string
	}
	return s.change(r, &in, func(c cards.Card, by cards.Person) error {
		return s.Desk.Edit(r.Context(), c.Project, cards.Edit{
			ID: c.ID, Version: in.Version, Title: in.Title, Description: in.Description, Labels: in.Labels, By: by,
		})
	})
}

// actOnCard comments on a card, moves it, puts it next to another of its column, or all of these.
func (s *server) actOnCard(r *http.Request) (any, error) {
	var in struct{ Key, Comment, To, Commit, Before, Behind string }
	return s.change(r, &in, func(c cards.Card, by cards.Person) error {
		to, known := cards.ColumnOf(in.To)
		if in.To != "" && !known {
			return noColumn(in.To)
		}
		err := s.Access.Check(access.Of(r.Context()), access.ForColumn(to.Status), s.viewOf(c).Repo)
		put := cards.Arrangement{ID: c.ID, Kind: cards.PutBefore, Other: in.Before, By: by}
		if in.Behind != "" {
			put.Kind, put.Other = cards.PutBehind, in.Behind
		}
		if err == nil && put.Other != "" {
			other, failed := s.find(r, put.Other)
			put.Other = other.ID
			column := cmp.Or(to.Key, c.Column)
			if err = failed; err == nil && (other.Project != c.Project || other.Column != column || other.State != cards.Live) {
				err = badPayload("before, behind: write the key of a card in the column where this one is to be.")
			}
		}
		if err == nil && (put.Other == "" || in.To != "" || in.Comment != "") {
			err = s.Desk.Do(r.Context(), admin.Act{Card: c.ID, Key: in.Key, Body: in.Comment, Column: to.Key, Of: in.Commit, By: by})
		}
		if err == nil && put.Other != "" {
			err = s.Desk.Arrange(r.Context(), c.Project, put)
		}
		return err
	})
}

// amend replaces or deletes a comment.
func (s *server) amend(r *http.Request) (any, error) {
	var in struct{ Comment string }
	return s.change(r, &in, func(c cards.Card, by cards.Person) error {
		a := cards.Amendment{ID: c.ID, Comment: r.PathValue("comment"), Body: in.Comment, Delete: r.Method == http.MethodDelete, By: by}
		return s.Desk.Amend(r.Context(), a, s.administers(r, c))
	})
}

// administers reports whether who has sent a request may remove from a card what others have put there.
func (s *server) administers(r *http.Request, c cards.Card) bool {
	return access.Of(r.Context()).May(access.Admin, s.viewOf(c).Repo)
}

// attach puts a file on a card.
func (s *server) attach(r *http.Request) (any, error) {
	var in struct {
		Name    string
		Content []byte
	}
	return s.change(r, &in, func(c cards.Card, by cards.Person) error {
		_, err := s.Desk.Cards.Attach(r.Context(), cards.Attachment{ID: c.ID, Name: in.Name, Body: in.Content, By: by})
		return err
	})
}

// detach removes a file from a card.
func (s *server) detach(r *http.Request) (any, error) {
	return s.change(r, nil, func(c cards.Card, by cards.Person) error {
		return s.Desk.Detach(r.Context(), c.ID, r.PathValue("file"), by, s.administers(r, c))
	})
}

// movesMax bounds the cards of one request.
const movesMax = 200

// moveCards moves several cards into a column that is no verdict, which is given card by card. Each has an answer of its own.
// Where the store does not answer there is none: sent again with its key, it moves those that are left and says nothing twice.
func (s *server) moveCards(r *http.Request) (any, error) {
	var in struct {
		Key, Comment, To string
		Cards            []string
	}
	by, err := written(r, &in)
	to, known := cards.ColumnOf(in.To)
	switch {
	case err != nil:
		return nil, err
	case s.Desk.Cards == nil:
		return nil, noBoard()
	case len(in.Cards) == 0 || len(in.Cards) > movesMax:
		return nil, badPayload(fmt.Sprintf("cards: send the keys of 1 to %d cards.", movesMax))
	case !known:
		return nil, noColumn(in.To)
	case access.ForColumn(to.Status) != access.Operator:
		return nil, badPayload("to: send a column that is no verdict: Approved, Rejected and Confirm Deploy are said card by card.")
	}
	out := MoveList{}
	for _, name := range in.Cards {
		c, err := s.cardCalled(r, name)
		if err == nil {
			err = s.Access.Check(access.Of(r.Context()), access.Operator, s.viewOf(c).Repo)
		}
		if err == nil {
			err = s.Desk.Do(r.Context(), admin.Act{Card: c.ID, Key: in.Key, Body: in.Comment, Column: to.Key, By: by})
		}
		moved := movedView{Card: name, Column: to.Key}
		if err != nil {
			no := s.refusalOf(err)
			if no.Status == http.StatusServiceUnavailable {
				return nil, err
			}
			moved.Column, moved.Problem = "", no.Text
		}
		out.Cards = append(out.Cards, moved)
	}
	return out, nil
}
