package simulate

import (
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Fair is an invariant: a card has its task soon after a person's move, whatever else the tracker's limit is used for.
const Fair Invariant = "fair"

// fairMax is how long that lasts at most on a board of sixty requests a minute.
const fairMax = 30 * time.Second

// Crowds use up the limit beside the world's cards.
const (
	crowdEdits   = "edits"   // 500 cards are put elsewhere at once
	crowdWords   = "words"   // 200 cards are moved by people during an outage of five minutes
	crowdFailing = "failing" // 200 cards cannot be read
	crowdListing = "listing" // a board is so large that no pass of the reconciler reads all of it
)

const crowd = "crowd-" // begins the ids of its cards

const crowdAt = 2 * time.Minute // when it begins; an outage is over five minutes later

// addCrowd makes every sixteenth world one of a limit of sixty, of a crowd, and of no other trouble.
func (w *World) addCrowd(seed uint64, l Limits) {
	if seed%16 != 7 || l.Features != nil {
		return
	}
	w.Crowd = []string{crowdEdits, crowdWords, crowdFailing, crowdListing}[seed/16%4]
	w.Budget, w.Recalls, w.Replicas, w.Nameless, w.Length = 60, true, 1, 0, w.Length+time.Hour
	for i := range w.Cards {
		w.Cards[i].Acts, w.Cards[i].Untitled, w.Cards[i].Meets = nil, false, 0
		w.Cards[i].At = crowdAt + 6*time.Minute + time.Duration(i)*time.Minute // one after the other
		switch w.Crowd {
		case crowdEdits:
			w.Cards[i].At -= 6*time.Minute - 2*time.Second
		case crowdWords:
			w.Cards[i].At -= 42 * time.Second // when the board has just answered again
		}
	}
	if w.Crowd == crowdWords {
		w.Spells = []Spell{{Lane: LaneBoard, Kind: FateError, At: crowdAt, For: 5 * time.Minute}}
	}
}

// gather has the crowd move its cards.
func (p *people) gather() {
	s, n, to := p.s, 200, stage.StatusApproved
	switch s.world.Crowd {
	case "", crowdListing:
		return
	case crowdEdits:
		n, to = 500, stage.StatusInReview
	}
	for i := range n {
		item := tracker.Item{
			ID: fmt.Sprintf(crowd+"%d", i), ProjectID: s.list[0].TrackerProject, Sequence: int64(1000 + i), Title: "one of many",
		}
		s.board.Put(item)
		at := crowdAt
		if s.world.Crowd == crowdWords {
			at += time.Duration(i) * time.Second
		}
		s.v.After(at, func() {
			item.Status = to
			s.board.PutAs(person, item)
			moved, err := s.board.Item(s.ctx, item.ProjectID, item.ID)
			if err != nil {
				s.check.fail(BadStart, "%s: %v", item.ID, err)
			}
			s.senders.moved(moved, person)
		})
	}
}

// promised looks later whether a card that a person has moved to the first column has its task.
func (c *checker) promised(i int, to stage.Status) {
	s := c.s
	if s.world.Crowd == "" || s.calm || to != stage.StatusToAnalyse {
		return
	}
	s.v.After(fairMax, func() {
		if _, live := c.taskOf(cardID(i)); !live && !c.done(cardID(i)) && !s.calm {
			c.fail(Fair, "%s has no task %s after a person has moved it (%s)", cardID(i), fairMax, s.world.Crowd)
		}
	})
}
