package cardlist_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cardlist"
	"github.com/signalbox-dev/signalbox/tracker/trackertest"
)

// shelf is a board whose calls fail when they are told to.
type shelf struct {
	mu    sync.Mutex
	cards map[string][]tracker.Item // by project
	said  []tracker.NewComment
	fails map[string]error
	at    time.Time
}

// begin does what each function of the board does first.
func (s *shelf) begin(ctx context.Context, calls ...string) error {
	err := ctx.Err()
	for _, call := range calls {
		if err == nil {
			err = s.fails[call]
		}
	}
	s.at = s.at.Add(time.Second)
	return err
}

func (s *shelf) list(ctx context.Context, project string) ([]tracker.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.cards[project]), s.begin(ctx, "Item", "List")
}

func (s *shelf) move(ctx context.Context, card tracker.Item, to stage.Status) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(ctx, "SetStatus"); err != nil {
		return err
	}
	s.put(card.ID, to)
	return nil
}

func (s *shelf) put(id string, to stage.Status) {
	for _, list := range s.cards {
		for i := range list {
			if list[i].ID == id {
				list[i].Status, list[i].UpdatedAt = to, s.at
			}
		}
	}
}

func (s *shelf) say(ctx context.Context, c tracker.NewComment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(ctx, "AddComment"); err != nil {
		return err
	}
	if !slices.ContainsFunc(s.said, func(o tracker.NewComment) bool { return o.Key != "" && o.Key == c.Key }) {
		s.said = append(s.said, c)
	}
	return nil
}

func (s *shelf) heard(ctx context.Context, _, item string) (out []tracker.Comment, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.said {
		if c.ItemID == item {
			out = append(out, tracker.Comment{ID: c.Key, Body: c.Plain(), Own: c.Key != ""})
		}
	}
	return out, s.begin(ctx, "Comments")
}

// fixed is a list of cards whose columns are read from somewhere.
type fixed struct {
	*cardlist.Tracker
	shelf *shelf
}

func (f fixed) Columns(ctx context.Context, project string) (map[stage.Status]string, error) {
	f.shelf.mu.Lock()
	defer f.shelf.mu.Unlock()
	if err := f.shelf.begin(ctx, "Columns"); err != nil {
		return nil, err
	}
	return f.Tracker.Columns(ctx, project)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	trackertest.Run(t, func(*testing.T) trackertest.Fixture {
		s := &shelf{cards: map[string][]tracker.Item{}, fails: map[string]error{}, at: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)}
		made := 0
		return trackertest.Fixture{
			Tracker: fixed{&cardlist.Tracker{Cards: s.list, Move: s.move, Say: s.say, Said: s.heard}, s},
			NewProject: func(columns ...stage.Status) string {
				if len(columns) < len(stage.Statuses()) {
					return "" // it has them all
				}
				made++
				return fmt.Sprint("p", made)
			},
			NewItem: func(project, title, description string) string {
				s.mu.Lock()
				defer s.mu.Unlock()
				made++
				s.at = s.at.Add(time.Second)
				s.cards[project] = append(s.cards[project], tracker.Item{ID: fmt.Sprint(made), Sequence: int64(made), Title: title, Description: description, UpdatedAt: s.at})
				return fmt.Sprint(made)
			},
			Move: func(item string, to stage.Status) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.at = s.at.Add(time.Second)
				s.put(item, to)
			},
			Say: func(item, text string) { _ = s.say(context.Background(), tracker.NewComment{ItemID: item, Body: text}) },
			Fail: func(call string, how faulttest.Kind) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.fails[call] = faulttest.Error(how)
			},
		}
	})
}
