package benchengine

import (
	"slices"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// gated lists the repositories of the serial gate: every second one. It would let
// none of the measured lives begin beside other tasks.
func (w *world) gated() (list []string) {
	for slot := range w.inflight {
		if !shared(slot) {
			list = append(list, slotRepo(slot))
		}
	}
	for n := range quietRepos {
		if n%2 == 1 {
			list = append(list, quietRepo(n))
		}
	}
	return list
}

func (w *world) isGated(repo string) bool { return w.features && slices.Contains(w.gated(), repo) }

// list makes the features of a server where nothing is set, before doubles.
func (w *world) list(runners map[stage.EffectKind]orchestrator.Runner) ([]orchestrator.Feature, error) {
	if !w.features {
		return nil, nil
	}
	set := features.Default()
	set.AgentPause, set.SerialGate.Repos = false, w.gated()
	made, err := set.Make(features.Parts{
		Parts: orchestrator.Parts{
			Store: w.store, Projects: w.projects, Host: w.host, Workspaces: w.place, Agents: w.place, Log: w.log,
		},
		Tracker: w.boards, Sources: []string{"plane"}, Messenger: w.chat, Leases: w.leases, Merger: runners[stage.EffectMerge],
	})
	if err != nil {
		return nil, err
	}
	return made.List, nil
}
