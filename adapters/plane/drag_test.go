package plane_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// beforeAPass waits until the reconciler looks at the board in half a second.
func (p *rig) beforeAPass() {
	listed := func() int { return p.plane.Requests()["GET work-items"] }
	for last := listed(); listed() == last; p.Settle(100 * time.Millisecond) {
	}
	p.Settle(59*time.Second + 400*time.Millisecond)
}

// refuseColumns has Plane take no column while a switch is on.
func (p *rig) refuseColumns(on *atomic.Bool) {
	p.spoil(func(r *http.Request) int {
		if on.Load() && r.Method == http.MethodPatch {
			return http.StatusServiceUnavailable
		}
		return 0
	})
}

// words counts the words that the journal of a card's task has decided.
func (p *rig) words(item string) map[stage.Trigger]int {
	out := map[stage.Trigger]int{}
	t := p.Task(item)
	entries, err := p.Store.Journal(p.Context(), t.ID)
	require.NoError(p, err)
	for _, e := range entries {
		if r, err := e.Recorded(); err == nil {
			out[r.Event.On]++
		}
	}
	return out
}

// A drag that the reconciler sees between its two saves is one word, though its webhook comes later and shows a later time: also
// while the column that answers it is not written.
func TestOneDragIsOneWord(t *testing.T) {
	for _, to := range []stage.Status{stage.StatusToAnalyse, stage.StatusConfirmDeploy, stage.StatusRejected, stage.StatusApproved, stage.StatusInProgress} {
		t.Run(string(to), func(t *testing.T) {
			var slow atomic.Bool
			engine(t, func(p *rig, s *planetest.Options, o *plane.Options) {
				reconciling(p, s, o)
				p.refuseColumns(&slow)
			}, func(p *rig) {
				item := p.card("one")
				if to != stage.StatusToAnalyse {
					p.begin(item)
					p.isReviewed(item)
				}
				p.beforeAPass()
				slow.Store(true)
				info, _ := stage.StatusNamed(to)
				before := p.plane.Requests()["GET work-items"]
				require.NoError(p, p.plane.Move(item, info.Name))
				p.Settle(900 * time.Millisecond)
				require.Greater(p, p.plane.Requests()["GET work-items"], before, "the reconciler has looked between the saves")
				p.Settle(5 * time.Second)
				slow.Store(false)
				p.Settle(10 * time.Minute)
				require.Equal(p, 1, p.words(item)[stage.Trigger(to)], "%v", p.words(item))
				said := 0
				for _, c := range p.plane.Comments(item) {
					said += strings.Count(c.HTML, "means nothing")
				}
				require.LessOrEqual(p, said, 1)
			})
		})
	}
}

// Neither a comment on a card nor a save of the column that it has is a person's word again: the card stands where a word
// was acted on, since its column cannot be written or the board lacks another.
func TestASaveIsNoWord(t *testing.T) {
	for name, save := range map[string]func(p *rig, item string){
		"a comment": func(p *rig, item string) { require.NoError(p, p.plane.Say(item, "<p>hm</p>")) },
		"an edit":   func(p *rig, item string) { p.plane.Edit(item, "another title", "<p>what is wanted</p>") },
		"the same column": func(p *rig, item string) {
			require.NoError(p, p.plane.Move(item, p.column(item)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var stuck atomic.Bool
			engine(t, func(p *rig, s *planetest.Options, o *plane.Options) {
				reconciling(p, s, o)
				p.refuseColumns(&stuck)
			}, func(p *rig) {
				item := p.started("one")
				stuck.Store(true)
				p.move(planetest.Human, item, stage.StatusRejected)
				p.Settle(time.Minute)
				require.Equal(p, "Rejected", p.column(item))
				before := p.words(item)
				for range 3 {
					save(p, item)
					p.Settle(2 * time.Minute)
				}
				stuck.Store(false)
				p.Settle(10 * time.Minute)
				require.Equal(p, before[stage.OnRejected], p.words(item)[stage.OnRejected])
				require.Equal(p, "In Review", p.column(item))
			})
		})
	}
}

// Approved that is set beside each request of the analyst's end counts, though our own column replaces it and the webhook, which
// is sent later, shows that one; of what was set before there were requirements the card says so.
func TestOverwrittenWordsCount(t *testing.T) {
	for _, late := range []time.Duration{time.Second, 90 * time.Second} {
		acted, over := 0, false
		for nth := 4; !over; nth++ { // three are made before there is a task
			over = approvedAt(t, late, nth, &acted)
		}
		require.Positive(t, acted)
	}
}

// approvedAt has a person approve right before a request, and reports whether so many were made.
func approvedAt(t *testing.T, late time.Duration, nth int, acted *int) (over bool) {
	var made atomic.Int64
	engine(t, func(_ *rig, s *planetest.Options, _ *plane.Options) { s.Drag = late }, func(p *rig) {
		p.Place.SetScript(takes(time.Minute))
		item, set, stood := p.card("one"), time.Time{}, ""
		p.spoil(func(*http.Request) int {
			if made.Add(1) == int64(nth) {
				set = p.Engine.Now()
				require.NoError(p, p.plane.Move(item, "Approved"))
				time.AfterFunc(late-time.Millisecond, func() { stood = p.column(item) })
			}
			return 0
		})
		require.NoError(p, p.plane.Move(item, "To Analyse"))
		p.Settle(30 * time.Minute)
		if over = set.IsZero(); over {
			return
		}
		entries, err := p.Store.Journal(p.Context(), p.Task(item).ID)
		require.NoError(p, err)
		asked, fates := time.Time{}, []task.Fate{}
		for _, e := range entries {
			if r, err := e.Recorded(); err == nil && r.Event.On == stage.OnAgentFinished && asked.IsZero() {
				asked = e.At
			}
			if w, ok := e.Word(); ok && w.Said == string(stage.OnApproved) {
				fates = append(fates, w.Fate)
			}
		}
		if !set.Before(asked) {
			require.Equal(p, []task.Fate{task.FateActed}, fates, "request %d", nth)
			p.isDone(item)
			*acted++
			return
		}
		if stood == "Approved" { // the second save, which has its own time, is one of the requirements
			return
		}
		require.NotContains(p, fates, task.FateActed, "request %d", nth)
		p.isReviewed(item)
	})
	return over
}
