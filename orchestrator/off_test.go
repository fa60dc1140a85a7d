package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/features/afterdone"
	"github.com/signalbox-dev/signalbox/orchestrator/features/agentpause"
	"github.com/signalbox-dev/signalbox/orchestrator/features/budget"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/livemessage"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/monitor"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/features/waitcomment"
	"github.com/signalbox-dev/signalbox/orchestrator/features/wip"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
)

// part is a feature of the program.
type part struct {
	name string
	make func(*Rig, string) (orchestrator.Feature, error)
}

// parts are all features. Each covers one repository, where that is an option.
func parts() []part {
	return []part{
		{"stop", func(r *Rig, _ string) (orchestrator.Feature, error) {
			return stop.Feature(r.Parts())
		}},
		{"after_done", func(r *Rig, _ string) (orchestrator.Feature, error) {
			return afterdone.Feature(afterdone.Options{Parts: r.Parts(), Freeze: true})
		}},
		{"reconcile", func(r *Rig, _ string) (orchestrator.Feature, error) {
			rec, err := reconcile.New(reconcile.Options{Tracker: r.Board, Board: r.Board})
			return rec.Feature(), err
		}},
		{"live_message", func(r *Rig, _ string) (orchestrator.Feature, error) {
			return livemessage.Feature(livemessage.Options{Parts: r.Parts(), Messenger: r.Chat, Cards: r.Board})
		}},
		{"wait_comment", func(r *Rig, _ string) (orchestrator.Feature, error) {
			return waitcomment.Feature(r.Parts())
		}},
		{"serial_gate", func(r *Rig, repo string) (orchestrator.Feature, error) {
			gate, err := serialgate.New(serialgate.Options{Parts: r.Parts(), Repos: []string{repo}})
			return gate.Feature(), err
		}},
		{"wip", func(r *Rig, repo string) (orchestrator.Feature, error) {
			l, err := wip.New(wip.Options{Parts: r.Parts(), Except: func(other string) bool { return repo != "*" && other != repo }})
			return l.Feature(), err
		}},
		{"task_deps", func(r *Rig, _ string) (orchestrator.Feature, error) {
			d, err := deps.New(deps.Options{Parts: r.Parts(), Relations: r.Board, Items: r.Board})
			return d.Feature(), err
		}},
		{"merge_gate", mergeGatePart},
		{"monitor", func(r *Rig, _ string) (orchestrator.Feature, error) {
			probe := func(context.Context, string) (monitor.Look, string) { return monitor.Good, "seen" }
			return monitor.Feature(monitor.Options{Parts: r.Parts(), Probe: probe})
		}},
		{"agent_pause", func(r *Rig, _ string) (orchestrator.Feature, error) {
			f, err := agentpause.New(r.Parts())
			return f.Feature(), err
		}},
		{"budget", func(r *Rig, _ string) (orchestrator.Feature, error) {
			b, err := budget.New(budget.Options{Parts: r.Parts(), Caps: budget.Caps{Task: 100e6, RepoDay: 100e6, Run: memwork.Usage().MicroUSD}})
			return b.Feature(), err
		}},
	}
}

// mergeGatePart is the merge gate; it is on for no repository where repo is empty.
func mergeGatePart(r *Rig, repo string) (orchestrator.Feature, error) {
	merge := effects.Runners(effects.Deps{Store: r.Store, Jobs: r.Store, Projects: r.Parts().Projects, Tracker: r.Board, Host: r.Host, Messenger: r.Chat, Workspaces: r.Place})
	gate, err := mergegate.New(mergegate.Options{Parts: r.Parts(), Leases: memlease.New(nil), Merge: merge[stage.EffectMerge], Off: repo == "", Repos: []string{repo}})
	return gate.Feature(), err
}

// groups are each part alone, each pair, and all of them.
func groups() [][]part {
	all := parts()
	out := [][]part{all}
	for i, one := range all {
		out = append(out, []part{one})
		for _, two := range all[i+1:] {
			out = append(out, []part{one, two})
		}
	}
	return append(out[1:], all)
}

func names(group []part) string {
	var out []string
	for _, p := range group {
		out = append(out, p.name)
	}
	return strings.Join(out, "+")
}

// with makes the engines of a rig with some features from the next start on. The merge
// gate is never left out, as in the program: it is off.
func with(r *Rig, repo string, group ...part) {
	r.Features = func() (list []orchestrator.Feature) {
		for _, p := range group {
			f, err := p.make(r, repo)
			require.NoError(r, err)
			require.Equal(r, p.name, f.Name)
			list = append(list, f)
		}
		if !slices.ContainsFunc(list, func(f orchestrator.Feature) bool { return f.Name == mergegate.Name }) {
			f, err := mergeGatePart(r, "")
			require.NoError(r, err)
			list = append(list, f)
		}
		return list
	}
}

// trace is all that a task did, and all that the world saw of it: each line with
// the time since a moment.
func trace(r *Rig, project, item string, since time.Time) string {
	r.Helper()
	ctx, b := context.Background(), strings.Builder{}
	line := func(at time.Time, kind string, v any) {
		raw, err := json.Marshal(v)
		require.NoError(r, err)
		fmt.Fprintf(&b, "%v %s %s\n", at.Sub(since), kind, raw)
	}
	row := r.Task(item)
	entries := read(r, r.Store.Journal, row.ID)
	for _, e := range entries {
		if e.Kind == task.KindHolding { // by the features that are on
			continue
		}
		line(e.At, "journal", json.RawMessage(numbers.ReplaceAll(e.Payload, nil)))
	}
	results := read(r, r.Store.GateResults, row.ID)
	for _, g := range results {
		line(g.At, "gate", g.Verdict)
	}
	runs := runsOf(r, row.ID)
	for _, a := range runs {
		line(a.Finished, "run", []any{a.Role, a.Stage, a.Attempt, a.Usage})
	}
	for _, m := range r.Board.Moves() {
		if m.ItemID == item {
			line(since, "status", m)
		}
	}
	comments, err := r.Board.Comments(ctx, project, item)
	require.NoError(r, err)
	for _, c := range comments {
		line(c.CreatedAt, "comment", []string{c.AuthorID, c.Body})
	}
	for _, c := range r.Place.Runs() {
		if c.WorkItem == row.WorkItemID {
			line(since, "agent", []any{c.Role, c.Prompt, c.Env})
		}
	}
	return b.String()
}

// own matches what a feature that is on adds on its own account: effects that bring the live
// message up to date, and effects that have the monitor look what there is to watch.
var own = regexp.MustCompile(`"effects":\[\{"kind":"(live|monitor)"[^}]*\}\],|,\{"kind":"(live|monitor)"[^}]*\}`)

// sameTrace compares traces line by line, and shows the first that differ.
func sameTrace(t *testing.T, want, got, name string) {
	t.Helper()
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		require.Equal(t, w[i], g[i], "%s: line %d", name, i+1)
	}
	require.Len(t, g, len(w), name)
}

// numbers of words are those of jobs, of which features have some too.
var numbers = regexp.MustCompile(`"(number|of)":[0-9]+,|,"policy":"[^"]*"|,"word":[0-9]+`)

// times are the moments in a trace. A feature that is on may need a moment.
var times = regexp.MustCompile(`(?m)^[0-9hm.]+s |"[a-z_]*at":"[^"]*"`)

// What features would do for other repositories and other cards leaves a task as
// it is without them: for each feature, each pair, and all of them.
func TestUnusedFeaturesAreTheBase(t *testing.T) {
	story := func(group ...part) (out string) {
		Run(t, func(r *Rig) { with(r, "acme/self", group...) }, func(r *Rig) {
			begin := time.Now()
			item := r.Finish("x")
			r.Stands(item, stage.Done)
			out = own.ReplaceAllString(times.ReplaceAllString(trace(r, App, item, begin), ""), "")
		})
		return out
	}
	base := story()
	require.Greater(t, strings.Count(base, "\n"), 40)
	for _, group := range groups() {
		sameTrace(t, base, story(group...), names(group))
	}
}

// A feature that was on, in the middle of a task and after one, and is switched
// off leaves nothing behind: the first task is done, and the next one's trace is
// that of a program that never had it.
func TestSwitchedOffIsTheBase(t *testing.T) {
	story := func(after time.Duration, group ...part) (out string) {
		Run(t, func(r *Rig) { with(r, "*", group...) }, func(r *Rig) {
			begin := time.Now()
			first, middle := r.Card(App, "first"), r.Card(App, "middle")
			r.ToDone(App, first)
			r.Set(middle, stage.StatusToAnalyse)
			r.Settle(10 * time.Second)
			r.Set(middle, stage.StatusApproved)
			r.Settle(after)
			at := r.Task(middle).State
			r.Shutdown()
			with(r, "")
			r.Start()
			r.Settle(time.Hour - time.Since(begin))
			require.Equal(r, stage.Done, r.Task(first).State.Stage, names(group))
			require.Equal(r, stage.Done, r.Task(middle).State.Stage, "%s, off after %v at %+v: %+v", names(group), after, at, r.Task(middle).State)
			item := r.Finish("x")
			r.Stands(item, stage.Done)
			out = trace(r, App, item, begin)
		})
		return out
	}
	const moment = 2500 * time.Millisecond
	base := story(moment)
	for _, group := range groups() {
		sameTrace(t, base, story(moment, group...), names(group))
	}
	step := 2900 * time.Millisecond
	if testing.Short() {
		step *= 3
	}
	for after := time.Duration(0); after < 50*time.Second; after += step {
		base := story(after)
		for _, p := range parts() {
			sameTrace(t, base, story(after, p), p.name)
		}
	}
}
