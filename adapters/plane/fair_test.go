package plane_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/allowance"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// fairMax is how long an honest card may wait for its task, whatever else is owed.
const fairMax = 30 * time.Second

// crowd is a person who makes a card and moves it.
func (p *rig) crowd(i int, to stage.Status) string {
	p.Helper()
	item := p.card(fmt.Sprint("crowd ", i))
	info, _ := stage.StatusNamed(to)
	require.NoError(p, p.plane.MoveAs(planetest.Human, item, info.Name))
	return item
}

// begun reports whether a card has a task.
func (p *rig) begun(item string) bool {
	p.Helper()
	t, err := orchestrator.NewestTask(context.Background(), p.Store, item)
	require.NoError(p, err)
	return t.ID != 0
}

func unavailable(*http.Request) int { return http.StatusServiceUnavailable }

// An honest card has its task soon after its move, on a board of 60 requests a minute.
func TestFair(t *testing.T) {
	for _, row := range []struct {
		name  string
		least int // how many events are owed still when the card has its task
		owed  func(p *rig)
	}{
		{"nothing else", 0, func(*rig) {}},
		{"500 bulk edits", 400, func(p *rig) {
			for i := range 500 {
				p.crowd(i, stage.StatusInReview)
			}
		}},
		{"200 words after an outage", 100, func(p *rig) {
			p.spoil(unavailable)
			for i := range 200 {
				p.crowd(i, stage.StatusApproved)
				p.Settle(1500 * time.Millisecond)
			}
			p.spoils.Store(nil)
			p.Settle(45 * time.Second) // a probe has come through, and all words are due
		}},
		{"200 words that failed before", 100, func(p *rig) {
			p.spoil(unavailable)
			for i := range 200 {
				p.crowd(i, stage.StatusApproved)
				if i%50 == 0 {
					p.spoils.Store(nil)
					p.Settle(31 * time.Second)
					p.spoil(unavailable)
				}
			}
			p.Settle(5 * time.Minute)
			p.spoils.Store(nil)
			p.Settle(35 * time.Second)
		}},
		{"a tenant whose cards fail again and again", 190, func(p *rig) {
			failing := map[string]bool{}
			for i := range 200 {
				failing[p.crowd(i, stage.StatusToAnalyse)] = true
			}
			p.spoil(func(r *http.Request) int {
				_, rest, _ := strings.Cut(r.URL.Path, "/work-items/")
				if id, _, _ := strings.Cut(rest, "/"); failing[id] {
					return http.StatusNotFound // of a proxy
				}
				return 0
			})
			p.Settle(10 * time.Minute)
		}},
		{"a full listing", 0, func(p *rig) {
			listing := allowance.With(p.Context(), allowance.Listing)
			var err error
			for err == nil { // as a reconciler that begins again and again
				_, err = p.client.List(listing, tracker.Query{ProjectID: p.project})
			}
			require.ErrorIs(p, err, tracker.ErrBudget)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var took time.Duration
			engine(t, limitedBoard(60), func(p *rig) {
				p.Settle(2 * time.Minute) // the columns are known
				row.owed(p)
				item := p.card("honest")
				info, _ := stage.StatusNamed(stage.StatusToAnalyse)
				require.NoError(p, p.plane.MoveAs(planetest.Human, item, info.Name))
				began := time.Now()
				for !p.begun(item) && time.Since(began) < 15*time.Minute {
					time.Sleep(time.Second)
				}
				took = time.Since(began)
				if row.least > 0 {
					open, err := p.Store.Jobs(context.Background(), queue.Filter{Pool: queue.PoolEvents + "/board", Open: true})
					require.NoError(p, err)
					require.GreaterOrEqual(p, len(open), row.least, "the rest waits still, else the row shows nothing")
					v, err := explain.ReadQueue(context.Background(), p.Engine)
					require.NoError(p, err)
					require.True(p, slices.ContainsFunc(v.Jobs, func(j explain.JobView) bool {
						return len(j.Waits) > 0 && j.Waits[0].Kind == explain.ReasonRequests && !j.Waits[0].Since.IsZero()
					}), "/queue says so")
				}
			})
			t.Logf("%3.0f s", took.Seconds())
			require.LessOrEqual(t, took, fairMax)
		})
	}
}
