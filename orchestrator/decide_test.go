package orchestrator_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker"
)

// holder returns the sender of a named token.
func holder(name string) stage.Principal {
	return stage.Principal{Kind: stage.KindOperator, ID: name, Via: stage.ViaAPI, Proof: stage.ProofToken}
}

// decided makes a decision that is taken, and lets it come into effect.
func decided(r *Rig, item string, on stage.Trigger, why string, by stage.Principal) {
	r.Helper()
	require.NoError(r, admin.Decide(context.Background(), r.Engine, r.Task(item).ID, admin.Word{On: on, Why: why}, by))
	r.Settle(10 * time.Second)
}

// refused returns why a decision is not taken.
func refused(r *Rig, item string, on stage.Trigger, by stage.Principal) error {
	r.Helper()
	before := r.Task(item)
	err := admin.Decide(context.Background(), r.Engine, before.ID, admin.Word{On: on}, by)
	require.Error(r, err)
	r.Settle(10 * time.Second)
	require.Equal(r, before.Version, r.Task(item).Version)
	return err
}

// A card goes from the analysis to the deployment by words that nobody sets on the board: the
// board follows, and card and journal name who it was.
func TestDecidedElsewhere(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Card(Self, "x")
		r.Move(Self, item, stage.StatusToAnalyse)
		r.Settle(10 * time.Second)
		decided(r, item, stage.OnRejected, "no limits are named", holder("ann"))
		require.Equal(r, []stage.Role{stage.Analyst, stage.Analyst}, r.Roles())
		rejected := r.Task(item).State
		require.WithinDuration(r, time.Now(), rejected.ActedAt, 11*time.Second, "an older word on the board is told by it")
		require.WithinDuration(r, time.Now(), rejected.HeardAt, 11*time.Second)
		require.True(r, r.Commented(Self, item, "Rejected by ann (api, token): no limits are named"))
		require.Equal(r, stage.StatusInReview, r.Status(Self, item))
		r.Settle(time.Minute)
		decided(r, item, stage.OnApproved, "", holder("ann"))
		r.Settle(time.Minute)
		ready := r.Task(item)
		require.Equal(r, stage.HoldConfirm, ready.State.Hold)
		require.Equal(r, "ann", ready.ApprovedBy)
		require.Equal(r, stage.StatusAwaitingDeploy, r.Status(Self, item))
		var none *admin.RefusedError
		require.ErrorAs(r, refused(r, item, stage.OnApproved, holder("ann")), &none)
		require.Equal(r, "Approved moves nothing: Approved is never a deploy trigger", none.Why)
		decided(r, item, stage.OnConfirmDeploy, "", holder("ann"))
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		require.ErrorAs(r, refused(r, item, stage.OnRejected, holder("ann")), &none)
		var acts []string
		entries := read(r, r.Store.Journal, ready.ID)
		for _, e := range entries {
			if a, err := e.Acted(); err == nil {
				acts = append(acts, a.Act+" "+a.By.ID+" "+a.Why)
			}
		}
		require.Equal(r, []string{"reject ann no limits are named", "approve ann ", "confirm ann "}, acts)
		require.Positive(r, r.Replays())
	})
}

// What the board would refuse is refused: an approval while the analyst works, and one that was
// given before what it is of was written.
func TestDecidedTooEarly(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			result := GoodAgent(ctx, c, files)
			if c.Run == 1 {
				delete(files, c.Env["SIGNALBOX_DOCS"]+"/requirements.md")
			}
			time.Sleep(time.Minute)
			return result
		}))
	}, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		require.ErrorContains(r, refused(r, item, stage.OnApproved, holder("ann")), "the analyst is at work")
		r.Settle(time.Minute)
		decided(r, item, stage.OnApproved, "", holder("ann")) // the gate judges it
		r.Stands(item, stage.Analysis)
		require.Contains(r, r.Task(item).State.Refused, "requirements.md")
		r.Move(App, item, stage.StatusApproved) // on the board it was not said before
		r.Settle(time.Minute)
		require.Equal(r, stage.StatusInReview, r.Status(App, item))
	})
}

// The registry's rules hold: who may, that it is proved who it was, and that it is somebody else.
func TestWhoDecidesElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		people task.People
		by     stage.Principal
		want   string
		unseen bool // the starter's address is not known
	}{
		"anybody":                  {task.People{}, holder("ann"), "", false},
		"anybody, not proved":      {task.People{}, stage.Principal{Kind: stage.KindOperator, ID: "local", Proof: stage.ProofNone}, "", false},
		"named":                    {task.People{Approvers: []string{"ann"}}, holder("ann"), "", false},
		"named by address":         {task.People{Approvers: []string{"ann@Example.org"}}, holder("ann@example.org"), "", false},
		"not named":                {task.People{Approvers: []string{"ann"}}, holder("lee"), "lee may not set Approved here; the approvers are ann", false},
		"a role of the tracker":    {task.People{Approvers: []string{"role:admin"}}, holder("root"), "the approvers are role:admin", false},
		"not proved":               {task.People{Approvers: []string{"local"}}, stage.Principal{Kind: stage.KindOperator, ID: "local", Proof: stage.ProofNone}, "it cannot be proved", false},
		"separate, the same":       {task.People{Separate: true}, holder("kim"), "somebody else is to approve it", false},
		"separate, same address":   {task.People{Separate: true}, holder("KIM@example.org"), "it cannot be shown", false},
		"separate, other address":  {task.People{Separate: true}, holder("ann@example.org"), "", false},
		"separate, no address":     {task.People{Separate: true}, holder("ann@example.org"), "it cannot be shown", true},
		"separate, another's name": {task.People{Separate: true}, holder("ann"), "it cannot be shown that ann is somebody else than who has started the task; set Approved on the board", false},
	} {
		t.Run(name, func(t *testing.T) {
			Run(t, func(r *Rig) {
				r.Projects[0].People = c.people
				kim := tracker.Person{ID: "kim", Email: "kim@example.org"}
				if c.unseen {
					kim.Email = ""
				}
				r.Board.AddPerson(kim)
				r.Board.AddPerson(tracker.Person{ID: "root", Role: "admin"})
			}, func(r *Rig) {
				item := r.Card(App, "x")
				r.MoveAs("kim", App, item, stage.StatusToAnalyse)
				r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim", Status: true, To: string(stage.StatusToAnalyse)})
				r.Settle(10 * time.Second)
				r.Waits(item, stage.HoldApproval)
				if c.want == "" {
					decided(r, item, stage.OnApproved, "", c.by)
					require.NotEqual(r, stage.Analysis, r.Task(item).State.Stage)
					return
				}
				var denied *admin.DeniedError
				require.ErrorAs(r, refused(r, item, stage.OnApproved, c.by), &denied)
				require.Contains(r, denied.Why, c.want)
			})
		})
	}
}

// A decision is of the commit that was read, and a rejection says why.
func TestDecidedOfWhatWasRead(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			files[c.Env["SIGNALBOX_DOCS"]+"/notes.md"] = "run " + strconv.FormatInt(c.Run, 10)
			return GoodAgent(ctx, c, files)
		}))
	}, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(time.Minute)
		decide := func(w admin.Word) error {
			return admin.Decide(context.Background(), r.Engine, r.Task(item).ID, w, holder("ann"))
		}
		read := r.Task(item).State.Head
		var no *admin.RefusedError
		require.ErrorAs(r, decide(admin.Word{On: stage.OnRejected, Why: " \n", Of: read}), &no)
		require.Contains(r, no.Why, "a rejection needs a reason")
		require.NoError(r, decide(admin.Word{On: stage.OnRejected, Why: "more", Of: read}))
		r.Settle(time.Minute)
		require.NotEqual(r, read, r.Task(item).State.Head)
		for _, on := range []stage.Trigger{stage.OnApproved, stage.OnRejected} {
			require.ErrorAs(r, decide(admin.Word{On: on, Why: "y", Of: read}), &no)
			require.Contains(r, no.Why, "is not the head of the task any more")
		}
		require.NoError(r, decide(admin.Word{On: stage.OnApproved, Of: r.Task(item).State.Head}))
		r.Settle(time.Minute)
		require.NotEqual(r, stage.Analysis, r.Task(item).State.Stage)
		require.Positive(r, r.Replays())
	})
}
