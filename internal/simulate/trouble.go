package simulate

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// addLimit bounds the tasks in work, in every second world, beside a serial gate in every
// fourth. The draws of what else is in
// the world stay as they are without it.
func (w *World) addLimit(seed uint64, l Limits) {
	r := newDice(seed, 0x3177)
	on, chosen := r.IntN(2) == 0 && (!w.has("serial_gate") || r.IntN(2) == 0), l.Features != nil
	if (!on || chosen) && !slices.Contains(l.Features, "wip") {
		return
	}
	w.Features = append(w.Features, "wip")
	for i := range w.Projects {
		w.Projects[i].WIP = 1 + r.IntN(2)
	}
}

// addRegrets has people stop some cards before they begin: the webhooks of what they
// took back may come late.
func (w *World) addRegrets(seed uint64) {
	r := newDice(seed, 0x4e94e7)
	for i := range w.Cards {
		c := &w.Cards[i]
		if r.IntN(6) == 0 && !w.blocks() {
			c.At += time.Minute
			c.Acts = append([]Act{{At: c.At - time.Duration(1+r.IntN(50))*time.Second, Do: DoMove, To: stage.StatusStop}}, c.Acts...)
		}
	}
	if seed%8 == 6 { // analysts with questions, and neighbours that fail often
		w.Curious, w.Rates.Fault, w.Replicas = true, 12, 1
	}
	if w.rush() {
		w.Replicas, w.Rates.Store = max(w.Replicas, 2), 0
		for i := range w.Cards {
			w.Cards[i].Project, w.Cards[i].At = w.Cards[0].Project, w.Cards[0].At
		}
	}
	if seed%8 == 7 && !w.blocks() { // words that meet a write of ours
		for i := range w.Cards {
			c := &w.Cards[i]
			at := c.At + time.Duration(r.IntN(15_000))*time.Millisecond
			if c.Meets = r.IntN(6); c.Meets == 0 {
				c.Acts = append(c.Acts, Act{At: at, Do: DoMove, To: stage.StatusStop})
			}
		}
	}
	if seed%4 == 1 {
		for i := range w.Cards {
			c := &w.Cards[i]
			c.Acts = append(c.Acts, Act{At: c.At + minutes(r, 0, 8), Do: DoEdit})
		}
	}
	if seed%8 != 3 || w.blocks() {
		return
	}
	// Cards that are stopped while git does not answer: what is under way ends after
	// their task.
	w.Spells = append(w.Spells, Spell{Lane: LaneGit, Kind: FateHang, For: minutes(r, 6, 10)})
	for i := range w.Cards {
		c := &w.Cards[i]
		c.Acts = append(c.Acts, Act{At: c.At + minutes(r, 0, 3), Do: DoMove, To: stage.StatusStop})
	}
}

// rush reports a world in which a meeting ends: all cards of a repository begin at once, and
// two replicas take them up. Its store never fails and nobody restarts, so that the order
// of beginnings can be checked.
func (w *World) rush() bool { return w.Seed%8 == 5 }

func (w *World) addSpells(r *rand.Rand) {
	kinds := []FateKind{FateError, FateHang, fateSlow, FateFinal}
	for range r.IntN(3) {
		s := Spell{Lane: Lanes()[r.IntN(len(Lanes()))], Kind: kinds[r.IntN(len(kinds))], At: minutes(r, 0, int(w.Length/time.Minute))}
		switch r.IntN(8) {
		case 0:
			s.For = 8 * minutes(r, 20, 40) // longer than any count of attempts would last
		default:
			s.For = minutes(r, 0, 20)
		}
		w.Spells = append(w.Spells, s)
		w.Length = max(w.Length, s.At+s.For)
	}
}

// addVendor has the vendor of the agents refuse them for a while, in every sixth world.
func (w *World) addVendor(seed uint64, l Limits) {
	r := newDice(seed, 0x7e4d)
	if (r.IntN(6) > 0 || l.Features != nil) && !slices.Contains(l.Features, "agent_pause") {
		return
	}
	w.Features = append(w.Features, "agent_pause")
	s := Spell{Lane: LaneVendor, Kind: fateLater, At: minutes(r, 0, int(w.Length/time.Minute)), For: minutes(r, 1, 40)}
	if r.IntN(2) == 0 {
		s.Kind = FateError
	}
	w.Spells = append(w.Spells, s)
	w.Length = max(w.Length, s.At+s.For)
}

// addPause has an operator pause agents for a while.
func (w *World) addPause(seed uint64) {
	r := newDice(seed, 0x9a05e)
	if r.IntN(5) > 0 {
		return
	}
	c, at := &w.Cards[r.IntN(len(w.Cards))], minutes(r, 0, int(w.Length/time.Minute))
	c.Acts = append(c.Acts, Act{At: at, Do: DoPause}, Act{At: at + minutes(r, 1, 10), Do: DoUnpause})
}

// pipeline is the built-in one, with lanes.
func pipeline() stage.Pipeline {
	p := stage.Default()
	p.Lanes = []stage.Lane{
		{Name: "fix", Stages: []stage.Stage{stage.Development, stage.Review, stage.Deploy}},
		{Name: "plan", Stages: []stage.Stage{stage.Analysis, stage.Development, stage.Testing, stage.DeployStaging, stage.Deploy}},
	}
	return p
}

// addLanes has projects and cards choose lanes.
func (w *World) addLanes(seed uint64) {
	r := newDice(seed, 0x1a7e)
	if r.IntN(4) > 0 {
		return
	}
	names := []string{"", stage.WholeLane, "fix", "plan"}
	for i := range w.Projects {
		w.Projects[i].Lane = names[r.IntN(len(names))]
	}
	for i := range w.Cards {
		w.Cards[i].Label = names[r.IntN(len(names))]
	}
}

func (w *World) addUpsets(r *rand.Rand) {
	for range r.IntN(5) {
		u := Upset{Replica: r.IntN(w.Replicas), At: minutes(r, 0, int(w.Length/time.Minute))}
		switch r.IntN(6) {
		case 0, 1:
			u.Kind, u.For = UpsetCrash, minutes(r, 0, 3)
		case 2, 3:
			u.Kind, u.For = UpsetPause, minutes(r, 0, 3)
		case 4:
			u.Kind, u.For = UpsetRestart, minutes(r, 0, 2)
			if r.IntN(3) == 0 {
				u.Flip = w.Projects[0].Name
			}
		default:
			u.Kind, u.For = UpsetClock, 15*time.Duration(r.IntN(40)-20)*time.Second // a claim lives for less
		}
		w.Upsets = append(w.Upsets, u)
	}
	slices.SortStableFunc(w.Upsets, func(a, b Upset) int { return int(a.At - b.At) })
}

// addMemories has people rename columns for a while, the tracker be slow to tell which accounts are the
// service's own, and its limit be shared, each in a part of the worlds in which processes remember.
func (w *World) addMemories(seed uint64) {
	r := newDice(seed, 0x4e3e4)
	if !w.Recalls {
		return
	}
	if r.IntN(2) == 0 {
		w.Nameless = minutes(r, 1, 5)
	}
	if r.IntN(3) == 0 {
		w.Budget = 20 + r.IntN(60)
	}
	if r.IntN(2) == 0 {
		return
	}
	words := []stage.Status{
		stage.StatusStop, stage.StatusApproved, stage.StatusRejected, stage.StatusInProgress, stage.StatusInReview, stage.StatusDone,
	}
	for i := range w.Cards {
		away := Act{At: minutes(r, 0, 10), Do: DoRename, To: words[r.IntN(len(words))]}
		back := away
		back.At += minutes(r, 1, 12)
		w.Cards[i].Acts = append(w.Cards[i].Acts, away, back)
		if away.To == stage.StatusStop {
			w.Cards[i].Acts = append(w.Cards[i].Acts, Act{At: back.At + minutes(r, 0, 5), Do: DoMove, To: stage.StatusStop})
		}
	}
}
