package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// Desk changes a board of our own for people. A change is durable before the engine hears of it; when its event
// cannot be stored, the reconciler finds the change on the board. What is wrong with the input is a *cards.InputError.
type Desk struct {
	Engine *orchestrator.Engine
	Cards  cards.Board
	Source string // of its events
}

// NeedsReason is said where a card is rejected without one.
const NeedsReason = "A rejection needs a reason: write what is wrong, and set Rejected with it."

// announceTime bounds how long an event is tried to be stored.
const announceTime = 5 * time.Second

// Act is a comment on a card, a move, or a move with the comment that goes with it.
type Act struct {
	Card   string // its id
	Key    string // identity of the comment: the same key and text make one
	Body   string
	Column string // empty: it stays where it is
	Of     string // the commit that the person has read; empty = not known
	By     cards.Person
}

// Make makes a card, and sets To Analyse on it when it is to begin, unless it was made before and moved since.
func (d Desk) Make(ctx context.Context, n cards.New, begin bool) (cards.Card, error) {
	if p, known := d.Engine.Projects.ByTracker(n.Project); !known {
		return cards.Card{}, fmt.Errorf("the board %.40q: %w", n.Project, tracker.ErrNotFound)
	} else if p.Board != "" {
		return cards.Card{}, &cards.InputError{Text: fmt.Sprintf("The cards of %s are on the board %s: make it there.", p.Repo, p.Board)}
	}
	c, e, err := d.Cards.Make(ctx, n)
	if err != nil {
		return c, err
	}
	d.Announce(ctx, e, tracker.HookItemCreated)
	if begin && c.MovedAt.Equal(c.MadeAt) {
		err = d.move(ctx, c.ID, string(stage.StatusToAnalyse), n.By)
	}
	return c, err
}

// Edit replaces the texts of a card, which then waits for nobody to change what it was not begun for.
func (d Desk) Edit(ctx context.Context, project string, e cards.Edit) error {
	if err := d.Cards.Edit(ctx, e); err != nil {
		return err
	}
	item, err := d.Engine.Tracker.Item(ctx, project, e.ID)
	if err = orchestrator.EndRefusal(ctx, d.Engine, e.ID, item, err); err != nil { // the next event of the card ends it
		d.Engine.Log.Warn("whether a card still waits to be changed cannot be stored", "item", e.ID, "err", err)
	}
	return nil
}

// Do carries an act out: the comment first, since of a rejection the newest one is the reason. A verdict of what is not
// the head of the task any more is a *RefusedError, and nothing is done.
func (d Desk) Do(ctx context.Context, a Act) error {
	on, _ := stage.BoardTrigger(stage.Status(a.Column))
	verdict := decisions()[on] != ""
	if verdict {
		if err := d.checkVerdict(ctx, a); err != nil {
			return err
		}
	}
	if a.Column == "" || strings.TrimSpace(a.Body) != "" {
		err := d.Cards.Say(ctx, cards.Saying{ID: a.Card, Key: a.Key, Body: a.Body, By: a.By})
		d.Engine.Heard(tracker.Hook{Kind: tracker.HookComment, ItemID: a.Card})
		if err != nil || a.Column == "" {
			return err
		}
	}
	return d.move(ctx, a.Card, a.Column, a.By)
}

// Amend replaces or deletes a comment of the person's own; others' only an administrator deletes. It moves nothing: who
// reads the comments next reads the newest text.
func (d Desk) Amend(ctx context.Context, a cards.Amendment, admin bool) error {
	story, err := d.Cards.Story(ctx, a.ID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(story.Comments, func(c cards.Comment) bool { return c.ID == a.Comment })
	switch {
	case at < 0:
		return &cards.InputError{Text: fmt.Sprintf("There is no comment %.40q on this card.", a.Comment)}
	case !story.Comments[at].IsOf(a.By) && !(admin && a.Delete):
		return &DeniedError{Why: "only its author edits a comment, and only the author or an administrator deletes it"}
	}
	err = d.Cards.Amend(ctx, a)
	d.Engine.Heard(tracker.Hook{Kind: tracker.HookComment, ItemID: a.ID})
	return err
}

// Detach removes a file from a card: who has put it there does, and an administrator.
func (d Desk) Detach(ctx context.Context, id, file string, by cards.Person, admin bool) error {
	story, err := d.Cards.Story(ctx, id)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(story.Files, func(f cards.File) bool { return f.ID == file })
	switch {
	case at < 0:
		return &cards.InputError{Text: fmt.Sprintf("There is no file %.40q on this card.", file)}
	case !story.Files[at].IsOf(by) && !admin:
		return &DeniedError{Why: "only who has put a file on a card removes it, or an administrator"}
	}
	return d.Cards.Detach(ctx, id, file, by)
}

func (d Desk) move(ctx context.Context, id, column string, by cards.Person) error {
	e, err := d.Cards.Move(ctx, id, column, by)
	if err == nil && e.Kind == cards.Moved {
		d.Announce(ctx, e, tracker.HookItemUpdated)
	}
	return err
}

// Arrange changes how a card of a board stands to others, and has what waits for that looked at.
func (d Desk) Arrange(ctx context.Context, project string, a cards.Arrangement) error {
	if err := d.Cards.Arrange(ctx, a); err != nil {
		return err
	}
	switch p, _ := d.Engine.Projects.ByTracker(project); a.Kind {
	case cards.Blocked, cards.Unblocked:
		d.Engine.Heard(tracker.Hook{Kind: tracker.HookItemUpdated, Event: "board." + a.Kind, ProjectID: project, ItemID: a.ID})
	case cards.PutBefore, cards.PutBehind:
		d.Engine.Admission.Mark(p.Repo)
	case cards.ArchivedIt, cards.DeletedIt:
		return orchestrator.EndRefusal(ctx, d.Engine, a.ID, tracker.Item{}, nil)
	}
	return nil
}

// checkVerdict refuses a rejection without a reason, which is given now or was since the card was moved last, and a
// verdict of what is not the head of the card's task any more.
func (d Desk) checkVerdict(ctx context.Context, a Act) error {
	story, err := d.Cards.Story(ctx, a.Card)
	if err != nil || story.Column == a.Column { // it was sent before
		return err
	}
	said := strings.TrimSpace(a.Body) != "" || slices.ContainsFunc(story.Comments, func(c cards.Comment) bool {
		return !c.Service && c.DeletedBy == "" && !c.At.Before(story.MovedAt)
	})
	if stage.Status(a.Column) == stage.StatusRejected && !said {
		return &cards.InputError{Text: NeedsReason}
	}
	t, err := orchestrator.NewestTask(ctx, d.Engine.Store, story.ID)
	if err != nil {
		return err
	}
	return Word{Of: a.Of}.check(t)
}

// Announce passes a change to the engine.
func (d Desk) Announce(ctx context.Context, e cards.Entry, kind string) {
	to, _ := cards.ColumnOf(e.To)
	h := tracker.Hook{
		Kind: kind, Event: "board." + e.Kind, ProjectID: e.Project, ItemID: e.Card,
		ActorID: e.By, Actor: tracker.Person{ID: e.By, Name: e.By}, Self: strings.HasPrefix(e.By, cards.Service),
		Status: e.Kind == cards.Moved, To: e.To, Word: to.Status, At: e.At, Via: stage.ViaBoard, Proof: e.Proof,
	}
	ctx, cancel := d.Engine.Scheduler.WithTimeout(ctx, announceTime)
	defer cancel()
	if err := d.Engine.Announce(ctx, d.Source, e.Delivery(), h); err != nil {
		d.Engine.Log.Warn("the event of a change on the board is not stored; the reconciler finds it", "item", e.Card, "err", err)
	}
}

// Find finds a card on boards by its name for people, such as APP-7, or by its id. Of several with that name one comes with the error.
func (d Desk) Find(ctx context.Context, boards []task.Project, key string) (found cards.Card, err error) {
	key = strings.TrimSpace(key)
	prefix, digits, _ := strings.Cut(key, "-")
	number, failed := strconv.ParseInt(digits, 10, 64)
	var byID cards.Story
	if failed != nil {
		if byID, err = d.Cards.Story(ctx, key); err != nil && !errors.Is(err, tracker.ErrNotFound) {
			return found, err
		}
	}
	example, repo := "APP", ""
	for _, p := range boards {
		if byID.Project == p.TrackerProject {
			return byID.Card, nil
		}
		if example = p.Prefix; failed != nil || number < 1 || !strings.EqualFold(p.Prefix, prefix) {
			continue
		}
		for _, state := range []cards.State{cards.Live, cards.Archived} {
			list, err := d.Cards.Cards(ctx, cards.Filter{Project: p.TrackerProject, Number: number, State: state})
			switch {
			case err != nil:
				return found, err
			case len(list) > 0 && repo != "":
				text := "%.40s is a card of %s and one of %s: write the id of the one that is meant, as its page's address has it."
				return found, &cards.InputError{Text: fmt.Sprintf(text, key, repo, p.Repo)}
			case len(list) > 0:
				found, repo = list[0], p.Repo
			}
		}
	}
	if repo != "" {
		return found, nil
	}
	return found, &cards.InputError{Text: fmt.Sprintf("There is no card %.40q on a board: write its key, such as %s-1.", key, example)}
}
