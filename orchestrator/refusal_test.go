package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/documents"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// A card that the first gate refuses waits for a person, with the reason, until it is changed, moved, taken or gone; what
// is heard twice and changes nothing leaves it there.
func TestRefusedCardWaitsForAPerson(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		ctx := context.Background()
		waiting := func() []orchestrator.Refusal {
			r.Settle(10 * time.Second)
			list, err := orchestrator.Refusals(ctx, r.Engine)
			require.NoError(r, err)
			return list
		}
		item := r.Begin("")
		retitle := func(title string) {
			i := cardOf(r, item)
			i.Title = title
			r.Board.Put(i)
		}
		heard := tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim"}
		list := waiting()
		require.Len(r, list, 1)
		require.Equal(r, []string{item, App, "acme/app", "APP-1"}, []string{list[0].ItemID, list[0].Project, list[0].Repo, list[0].Key})
		require.Contains(r, list[0].Why, "the title is empty")
		require.NotZero(r, list[0].Since)
		line, err := documents.Reader{Engine: r.Engine}.Decisions(ctx, func(repo string) bool { return repo == "acme/app" })
		require.NoError(r, err)
		require.Len(r, line, 1)
		require.Contains(r, line[0].Asked, "the title is empty")
		require.Equal(r, []any{item, int64(0), []stage.Status{stage.StatusToAnalyse}}, []any{line[0].Card, line[0].TaskID, line[0].Words})
		line, err = documents.Reader{Engine: r.Engine}.Decisions(ctx, func(string) bool { return false })
		require.NoError(r, err)
		require.Empty(r, line, "its repository may not be read")

		r.Hook(heard)
		require.Len(r, waiting(), 1, "nothing has changed")
		r.Set(item, stage.StatusToAnalyse)
		require.Len(r, waiting(), 1, "it is refused again")
		require.Equal(r, stage.StatusBlocked, r.Status(App, item))

		retitle("Now with a title")
		r.Hook(heard)
		require.Empty(r, waiting(), "it was changed")

		for _, to := range []stage.Status{stage.StatusApproved, stage.StatusStop} {
			retitle("")
			r.Set(item, stage.StatusToAnalyse)
			require.Len(r, waiting(), 1)
			r.Set(item, to)
			require.Empty(r, waiting(), "it was moved to %s", to)
		}

		retitle("A title")
		r.Set(item, stage.StatusToAnalyse)
		require.Empty(r, waiting(), "it is taken")
		r.Waits(item, stage.HoldApproval)

		item = r.Begin("")
		require.Len(r, waiting(), 1)
		r.Board.Remove(App, item)
		heard.Kind, heard.ItemID = tracker.HookItemRemoved, item
		r.Hook(heard)
		require.Empty(r, waiting(), "it is gone")
	})
}

// Who may not begin a card is refused; taken from another as it is, it waits no more.
func TestRefusedCardIsTakenFromAnother(t *testing.T) {
	Run(t, func(r *Rig) { r.Projects[0].People.Starters = []string{"ann"} }, func(r *Rig) {
		item := r.Begin("A title")
		r.Settle(10 * time.Second)
		list, err := orchestrator.Refusals(context.Background(), r.Engine)
		require.NoError(r, err)
		require.Len(r, list, 1)
		require.Contains(r, list[0].Why, "starters")
		r.MoveAs("ann", App, item, stage.StatusToAnalyse)
		r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "ann", Status: true})
		r.Settle(10 * time.Second)
		r.Waits(item, stage.HoldApproval)
		list, err = orchestrator.Refusals(context.Background(), r.Engine)
		require.NoError(r, err)
		require.Empty(r, list)
	})
}
