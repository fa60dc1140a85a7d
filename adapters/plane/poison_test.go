package plane_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// limitedBoard allows each token so many requests a minute.
func limitedBoard(limit int) func(*rig, *planetest.Options, *plane.Options) {
	return func(_ *rig, o *planetest.Options, _ *plane.Options) { o.RateLimit = limit }
}

// Hundreds of webhooks of cards that a proxy does not let be read do not keep an honest card from its task, and readiness
// has how old the oldest is.
func TestPoisonWebhooks(t *testing.T) {
	engine(t, limitedBoard(60), func(p *rig) {
		const poison = 559
		const broken = "00000000-0000-4000-8000-"
		p.spoil(func(r *http.Request) int {
			_, rest, _ := strings.Cut(r.URL.Path, "/work-items/")
			if strings.HasPrefix(rest, broken) {
				return http.StatusNotFound
			}
			return 0
		})
		for i := range poison {
			id := fmt.Sprintf("%s%012d", broken, i)
			p.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: p.project, ItemID: id, ActorID: planetest.Human, Status: true})
		}
		p.Settle(3 * time.Minute)
		require.ErrorContains(p, p.Engine.CheckEvents(context.Background()), "559 webhooks wait")
		p.Settle(15 * time.Minute) // each was read once by now
		made := p.spoiled.Load()
		p.Settle(10 * time.Minute)
		require.InDelta(p, 10*20, p.spoiled.Load()-made, 30, "retries have a third of the requests")
		item := p.started("honest")
		p.Settle(5 * time.Second)
		p.Stands(item, stage.Analysis)
	})
}

// Webhooks that come together for one card are one read, and one more after the word that they tell.
func TestWebhooksOfOneCardAreOneRead(t *testing.T) {
	engine(t, nil, func(p *rig) {
		p.spoil(func(*http.Request) int { time.Sleep(10 * time.Millisecond); return 0 })
		item := p.started("one")
		p.Settle(time.Minute)
		before := p.plane.Requests()["GET work-items/*"]
		for range 50 {
			p.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: p.project, ItemID: item, ActorID: planetest.Human, Status: true})
		}
		p.Settle(time.Minute)
		require.LessOrEqual(p, p.plane.Requests()["GET work-items/*"]-before, 4)
		p.approve(item)
		p.Settle(time.Minute)
		p.isDone(item)
	})
}

// An id that is none is refused at the door, and is not found where it is met all the same.
func TestIDsOfWebhooks(t *testing.T) {
	t.Parallel()
	c, _ := setup(t)
	for _, id := range []string{"x", "../" + itemID, itemID + "0", strings.Repeat("9", 300)} {
		_, err := c.Decode("", fmt.Appendf(nil, `{"event":"issue","action":"updated","data":{"id":%q,"project":%q}}`, id, projectID))
		require.ErrorContains(t, err, "is no UUID", id)
		_, err = c.Decode("", fmt.Appendf(nil, `{"event":"issue","action":"updated","data":{"id":%q,"project":%q}}`, itemID, id))
		require.ErrorContains(t, err, "is no UUID", id)
	}
	answering, s := setup(t)
	p := s.AddProject("REA", "Backlog")
	_, err := answering.Item(t.Context(), p, "no-id")
	require.ErrorIs(t, err, tracker.ErrNotFound)
	_, err = answering.Item(t.Context(), "no-project", itemID)
	require.NotErrorIs(t, err, tracker.ErrNotFound, "that is a mistake of the registry")
}
