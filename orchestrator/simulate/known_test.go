package simulate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/signalbox-dev/signalbox/orchestrator/simulate"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// fault is a fault of the service that is known and not mended yet. Its world must
// break its invariant: one that does not is mended, and leaves the list.
type fault struct {
	name      string
	invariant simulate.Invariant
	text      string // for docs/reliability.md
	world     func() simulate.World
}

// knownFaults belong to the redesign of effects and lanes, and to the seams of
// features.
func knownFaults() []fault {
	return []fault{
		{
			"hanging-chat", simulate.Progress,
			"A chat that hangs takes all workers of effects: comments and pushes of every repository wait, although the board and git are well.",
			func() simulate.World { return sick(7, 15, simulate.LaneChat, simulate.FateHang, 90*time.Minute) },
		},
		{
			"refused-comments-hold-stop", simulate.Prompt,
			"Comments that are refused for good are tried for hours, and until then a person's STOP waits behind the status of the same card.",
			func() simulate.World {
				w := sick(3, 2, simulate.LaneComments, simulate.FateFinal, 2*time.Hour)
				for i := range w.Cards {
					w.Cards[i].Acts = []simulate.Act{{At: 12 * time.Minute, Do: simulate.DoMove, To: stage.StatusStop}}
				}
				return w
			},
		},
		{
			"outage-of-hours", simulate.Owed,
			"What is owed dies after 40 attempts, less than three hours: a neighbour that is away for longer loses it in silence.",
			func() simulate.World { return sick(5, 2, simulate.LaneComments, simulate.FateError, 5*time.Hour) },
		},
		{
			"approval-without-documents", simulate.Unblocks,
			"The analyst leaves out a required file: Approved is refused, and the explanation still names Approved as the way on.",
			func() simulate.World {
				return simulate.NewWorld(204, simulate.Limits{Traps: []string{simulate.TrapForgets}})
			},
		},
		{
			"push-by-a-person", simulate.Ends,
			"A person pushes to a task's branch: the push of the service is refused and given up without a word, and the task waits for CI of a commit that nobody has.",
			func() simulate.World {
				return simulate.NewWorld(0, simulate.Limits{Traps: []string{simulate.TrapPush}})
			},
		},
		{
			"serial-gate-and-dependency", simulate.Ends,
			"A card waits for one that entered the board later: the serial gate holds the later one for the earlier, the dependency the earlier for the later, and no cycle is told.",
			func() simulate.World {
				return simulate.NewWorld(24, simulate.Limits{Traps: []string{simulate.TrapDeadlock}})
			},
		},
		{
			"merge-lease-and-dependency", simulate.Unblocks,
			"A task has the merge lease when it turns out that it waits for another, which waits for the lease.",
			func() simulate.World {
				return simulate.NewWorld(44, simulate.Limits{Traps: []string{simulate.TrapDeadlock}})
			},
		},
		{
			"cancelled-prerequisite", simulate.Ends,
			"A card that another waits for is stopped: its task is looked for by an id that is a tombstone now, and the other waits for ever.",
			func() simulate.World {
				w := calm(11, 4)
				w.Features = []string{"stop", "task_deps"}
				w.Cards[1].BlockedBy, w.Cards[1].At, w.Cards[1].Project = 0, 2*time.Minute, w.Cards[0].Project
				w.Cards[0].Acts = []simulate.Act{{At: 4 * time.Minute, Do: simulate.DoMove, To: stage.StatusStop}}
				return w
			},
		},
		{
			"checkouts-on-replicas", simulate.Leftover,
			"A task's checkouts on replicas other than the one that tidies up after it stay for ever.",
			func() simulate.World {
				w := calm(13, 4)
				w.Replicas, w.Traps = 3, []string{simulate.TrapReplicas}
				return w
			},
		},
		{
			"failed-attempts-not-counted", simulate.Owed,
			"A status that cannot be written puts the board's event of a card off again and again, and the results of agents wait behind it: failures are not counted, and an agent that fails is run 40 times.",
			func() simulate.World {
				return simulate.NewWorld(405, simulate.Limits{Traps: []string{simulate.TrapPaid}})
			},
		},
		{
			"branch-moved-between-replicas", simulate.Ends,
			"With three replicas that die, a commit is published that another replica's branch does not contain: the push is refused and given up without a word, and the task waits for CI for ever. How far the double of git is at fault is not settled.",
			func() simulate.World { return written("testdata/known/branch-moved-between-replicas.txtar") },
		},
		{
			"registry-loses-results", simulate.Ends,
			"A project leaves the registry for a while: what its effects report meanwhile is thrown away, and the task waits for ever for the answer to a merge that was made.",
			func() simulate.World {
				return simulate.NewWorld(69, simulate.Limits{Traps: []string{simulate.TrapRegistry}})
			},
		},
	}
}

// calm is a world in which nothing goes wrong.
func calm(seed uint64, cards int) simulate.World {
	w := simulate.NewWorld(seed, simulate.Limits{Tasks: cards, Replicas: 1, Features: []string{"stop", "live_message", "reconcile"}, Faults: []string{}})
	w.Rates.Agent = 0
	for i := range w.Cards {
		w.Cards[i].Acts, w.Cards[i].Rejects, w.Cards[i].Untitled, w.Cards[i].Delay = nil, 0, false, 30*time.Second
	}
	for i := range w.Projects {
		w.Projects[i].CIRed, w.Projects[i].Columns = 0, nil
	}
	return w
}

// sick is a calm world with one neighbour sick from the beginning.
func sick(seed uint64, cards int, lane string, kind simulate.FateKind, length time.Duration) simulate.World {
	w := calm(seed, cards)
	w.Spells = []simulate.Spell{{Lane: lane, Kind: kind, For: length}}
	w.Length = length
	return w
}

// knownTable is the list of known faults for docs/reliability.md.
func knownTable() string {
	var b strings.Builder
	b.WriteString("| fault | what happens | broken | seed |\n|---|---|---|---|\n")
	for _, f := range knownFaults() {
		fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", f.name, f.text, f.invariant, f.world().Seed)
	}
	return b.String()
}

// written is a world that is kept in a file; the zero world when it cannot be read.
func written(name string) (w simulate.World) {
	body, err := os.ReadFile(name)
	if err != nil {
		return w
	}
	for _, f := range txtar.Parse(body).Files {
		err = json.Unmarshal(f.Data, &w)
	}
	if err != nil {
		return simulate.World{}
	}
	return w
}
