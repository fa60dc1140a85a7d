package orchestrator_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// moody is a board that takes statuses as it pleases until it is well: it refuses,
// takes one and loses the answer, or takes it late.
type moody struct {
	*memtracker.Board

	mu   sync.Mutex
	rng  *rand.Rand
	well bool
}

type noAnswerError struct{}

func (noAnswerError) Error() string   { return "no answer" }
func (noAnswerError) Retryable() bool { return true }

func (m *moody) SetStatus(ctx context.Context, project, item string, s stage.Status) error {
	m.mu.Lock()
	mood, late := m.rng.IntN(5), time.Duration(m.rng.IntN(20))*time.Second
	if m.well {
		mood = 0
	}
	m.mu.Unlock()
	switch mood {
	case 0, 1:
		return m.Board.SetStatus(ctx, project, item, s)
	case 2:
		time.Sleep(late)
		return m.Board.SetStatus(ctx, project, item, s)
	case 3:
		_ = m.Board.SetStatus(ctx, project, item, s) // the answer is lost, whatever it was
		return noAnswerError{}
	default:
		return noAnswerError{}
	}
}

// spoken is a word of a person's.
type spoken struct {
	status stage.Status
	at     time.Time
}

const (
	hookDelay = 90 * time.Second // the longest of a webhook
	speaking  = 10 * time.Minute
)

// Whatever our own writes do meanwhile, and however late and often webhooks come, each
// word of a person's is judged, none is acted upon twice, and nothing that the service
// has set itself is taken for a word.
func TestWords(t *testing.T) {
	t.Parallel()
	seeds := uint64(150)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		words(t, seed)
	}
}

func words(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	var board *moody
	Run(t, func(r *Rig) {
		board = &moody{Board: r.Board, rng: rand.New(rand.NewPCG(seed, 8))}
		r.Tracker = board
	}, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Developer, Hang)) // nothing reaches a finished task any more
		item := r.Card(App, "x")
		said := []spoken{moveLate(r, rng, item, stage.StatusToAnalyse)}
		r.Settle(2 * hookDelay) // else there may never be a task
		for end := time.Now().Add(speaking); time.Now().Before(end); {
			r.Settle(time.Duration(1+rng.IntN(200)) * time.Second)
			to := []stage.Status{stage.StatusApproved, stage.StatusRejected, stage.StatusInProgress}[rng.IntN(3)]
			if r.Status(App, item) != to { // else a person cannot set it
				said = append(said, moveLate(r, rng, item, to))
			}
		}
		board.mu.Lock()
		board.well = true
		board.mu.Unlock()
		r.Settle(15 * time.Minute)
		judged(r, fmt.Sprintf("seed %d: %v", seed, said), item, said)
	})
}

// moveLate moves a card as a person does. The webhook comes late, and more than once.
func moveLate(r *Rig, rng *rand.Rand, item string, to stage.Status) spoken {
	r.Helper()
	r.MoveUnseen(App, item, to)
	i, err := r.Board.Item(context.Background(), App, item)
	require.NoError(r, err)
	for range 1 + rng.IntN(3) {
		time.AfterFunc(time.Duration(rng.IntN(int(hookDelay))), func() {
			r.Hook(tracker.Hook{
				Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim", Status: true, To: string(to), At: i.UpdatedAt,
			})
		})
	}
	return spoken{to, time.Now()}
}

// judged compares the journal of a card's task with what a person has said.
func judged(r *Rig, what, item string, said []spoken) {
	r.Helper()
	entries, err := r.Store.Journal(context.Background(), r.Task(item).ID)
	require.NoError(r, err)
	moved, count := map[stage.Status]int{}, map[stage.Status]int{}
	heard := map[stage.Status]time.Time{} // newest judgement of each word
	for _, e := range entries {
		d, err := e.Recorded()
		require.NoError(r, err)
		word := stage.Status(d.Event.On)
		if _, board := stage.BoardTrigger(word); !board {
			continue
		}
		heard[word] = e.At
		if d.Decision.Moved {
			moved[word]++
		}
	}
	for i, w := range said {
		count[w.status]++
		if i+1 < len(said) && said[i+1].at.Sub(w.at) <= hookDelay+10*time.Second {
			continue // a newer word was set before this one's webhooks had all come
		}
		require.False(r, heard[w.status].Before(w.at), "%s: word %d was not judged", what, i)
	}
	for word := range heard {
		require.Positive(r, count[word], "%s: %s was never said", what, word)
	}
	for word, n := range moved {
		require.LessOrEqual(r, n, count[word], "%s: %s was acted upon %d times", what, word, n)
	}
}
