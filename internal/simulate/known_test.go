package simulate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/signalbox-dev/signalbox/internal/simulate"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// fault is a fault of the service that is known and not mended yet. Its world must
// break its invariant: one that does not is mended, and leaves the list.
type fault struct {
	name      string // of its world in testdata/known
	invariant simulate.Invariant
	text      string // for docs/reliability.md
}

func (f fault) world() simulate.World { return written("testdata/known/" + f.name + ".txtar") }

// knownFaults belong to the seams of features.
func knownFaults() []fault {
	return []fault{
		{
			"feature-switched", simulate.Replays,
			"A feature is switched on or off at a restart: the journal of before is decided otherwise by the features of now.",
		},
	}
}

// calm is a world in which nothing goes wrong.
func calm(seed uint64, cards int) simulate.World {
	w := simulate.NewWorld(seed, simulate.Limits{Tasks: cards, Features: []string{"stop", "live_message", "reconcile"}})
	w.Replicas = 1
	w.Rates, w.Spells, w.Upsets, w.Curious = simulate.Rates{AgentTime: w.Rates.AgentTime}, nil, nil, false
	w.Length = min(w.Length, 30*time.Minute)
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

// mendedFaults are worlds that once broke an invariant and hold it now, each with a
// neighbour or a registry that behaves as it did when the fault was found.
func mendedFaults() map[string]simulate.World {
	stopped := sick(3, 2, simulate.LaneComments, simulate.FateFinal, 2*time.Hour)
	for i := range stopped.Cards {
		stopped.Cards[i].Acts = []simulate.Act{{At: 12 * time.Minute, Do: simulate.DoMove, To: stage.StatusStop}}
	}
	killed := calm(21, 1)
	killed.Drawn = false
	for n := range 12 {
		killed.Fates = append(killed.Fates, simulate.Fate{Call: "chat.Send", N: n + 1, Kind: simulate.FateAfter})
	}
	replicas := calm(13, 4)
	replicas.Replicas = 3
	prerequisite := calm(11, 4)
	prerequisite.Features = []string{"stop", "task_deps"}
	prerequisite.Cards[1].BlockedBy, prerequisite.Cards[1].At, prerequisite.Cards[1].Project = 0, 2*time.Minute, prerequisite.Cards[0].Project
	prerequisite.Cards[0].Acts = []simulate.Act{{At: 4 * time.Minute, Do: simulate.DoMove, To: stage.StatusStop}}
	return map[string]simulate.World{
		"a card waits for one that was stopped, for ever":                 prerequisite,
		"a notice and a live message are sent once more for each death":   killed,
		"checkouts on replicas that do not tidy up stay for ever":         replicas,
		"a chat that hangs holds the workers of all effects":              sick(7, 15, simulate.LaneChat, simulate.FateHang, 90*time.Minute),
		"comments that are refused for good keep a person's STOP waiting": stopped,
		"what is owed dies in an outage of hours":                         sick(5, 2, simulate.LaneComments, simulate.FateError, 5*time.Hour),
	}
}
