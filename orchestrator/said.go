package orchestrator

import (
	"context"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// saidFor is how long the comments of a card are taken for known. A webhook of another comment
// ends that at once, and so does a person's move.
const saidFor = 10 * time.Minute

// saidMax bounds how many cards' comments are kept.
const saidMax = 1000

// said are the comments of cards as they were read for agents.
type said struct {
	mu     sync.Mutex
	byItem map[string]saidOn
	heard  int64 // counts the webhooks of comments
}

type saidOn struct {
	list []tracker.Comment
	at   time.Time
}

// comments reads what is said on the card of a task, once for agents that follow each other.
func (e *Engine) comments(ctx context.Context, p task.Project, t task.Task) ([]tracker.Comment, error) {
	known, heard := e.said.get(t.TrackerIssueID)
	if !known.at.Before(t.State.HeardAt) && e.Now().Sub(known.at) < saidFor {
		return known.list, nil
	}
	at := e.Now()
	list, err := e.Tracker.Comments(ctx, p.On(t.TrackerProjectID).TrackerProject, t.TrackerIssueID)
	if err == nil {
		e.said.put(t.TrackerIssueID, saidOn{list, at}, heard)
	}
	return list, err
}

func (s *said) get(item string) (known saidOn, heard int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byItem[item], s.heard
}

// put keeps comments, unless a webhook of one has come since they were requested.
func (s *said) put(item string, now saidOn, heard int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heard != heard {
		return
	}
	if s.byItem == nil || len(s.byItem) >= saidMax {
		s.byItem = map[string]saidOn{}
	}
	s.byItem[item] = now
}

// drop forgets the comments of a card on which something is said.
func (s *said) drop(item string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard++
	delete(s.byItem, item)
}
