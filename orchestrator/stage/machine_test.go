package stage_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

func machine(t testing.TB, rules ...stage.Rule) *stage.Machine {
	t.Helper()
	m, err := stage.New(stage.Default(), stage.Options{}, rules...)
	require.NoError(t, err)
	return m
}

func TestDefaultPipelineIsValid(t *testing.T) {
	require.NoError(t, stage.Default().Validate())
	require.Equal(t, []string{
		"qg0", "check_analysis_ready", "check_analysis_approved", "check_architecture_ready", "check_ci_green", "check_work_done", "check_protected_paths",
		"check_review_approved", "check_tests_passed", "check_staging_status", "check_deploy_status",
	}, stage.Default().Gates())
}

func TestValidateNamesTheFault(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*stage.Pipeline)
		want   string
	}{
		"twice":         {func(p *stage.Pipeline) { p.Stages = append(p.Stages, p.Stages[0]) }, `"analysis" is declared twice`},
		"no role":       {func(p *stage.Pipeline) { p.Stages[0].Role = "" }, `"analysis" has no role`},
		"unknown from":  {func(p *stage.Pipeline) { p.Edges[0].From = "nowhere" }, "nowhere --to_analyse--> analysis leaves a stage that is not declared"},
		"unknown to":    {func(p *stage.Pipeline) { p.Edges[0].To = "nowhere" }, "leads to a stage that is not declared"},
		"into none":     {func(p *stage.Pipeline) { p.Edges[0].To = stage.None }, "leads to a stage that is not declared"},
		"out of a sink": {func(p *stage.Pipeline) { p.Edges[0].From = stage.Done }, "leaves a sink"},
		"no trigger":    {func(p *stage.Pipeline) { p.Edges[0].On = "" }, "no trigger or no action"},
		"gate, no red":  {func(p *stage.Pipeline) { p.Edges[0].Red = stage.RedNone }, "both gates and a red action"},
		"red, no gate":  {func(p *stage.Pipeline) { p.Edges[0].Gates = nil }, "both gates and a red action"},
		"unreachable": {func(p *stage.Pipeline) {
			p.Stages = append(p.Stages, stage.Info{Stage: "legal", Role: "lawyer"})
		}, `"legal" cannot be reached`},
		"no way out": {func(p *stage.Pipeline) {
			p.Stages = append(p.Stages, stage.Info{Stage: "legal", Role: "lawyer"})
			p.Edges = append(p.Edges, stage.Edge{From: stage.Analysis, On: "sue", Do: stage.DoEnter, To: "legal"})
		}, `"legal" has no way out`},
	} {
		t.Run(name, func(t *testing.T) {
			p := stage.Default()
			c.change(&p)
			_, err := stage.New(p, stage.Options{})
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestPrintAndMermaid(t *testing.T) {
	for file, write := range map[string]func(*strings.Builder) error{
		"testdata/pipeline.txt": func(b *strings.Builder) error { return stage.Default().Print(b) },
		"testdata/pipeline.mmd": func(b *strings.Builder) error { return stage.Default().Mermaid(b) },
	} {
		var b strings.Builder
		require.NoError(t, write(&b))
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), b.String())
	}
}

func TestStatusTable(t *testing.T) {
	triggers := map[stage.Status]bool{}
	for _, s := range stage.Statuses() {
		if s.Fallback != "" {
			_, known := stage.StatusNamed(s.Fallback)
			require.True(t, known, "%s falls back to an unknown status", s.Key)
			require.False(t, s.Trigger, "a trigger must not have a stand-in: %s", s.Key)
		}
		if trigger, ok := stage.BoardTrigger(s.Key); ok {
			triggers[s.Key] = true
			require.Contains(t, stage.Triggers(), trigger)
		}
	}
	require.Len(t, triggers, 6)
	require.Len(t, stage.Statuses(), 15)
	_, ok := stage.StatusNamed("nothing")
	require.False(t, ok)
}

func TestRulesSeeAndReplaceDecisions(t *testing.T) {
	veto := func(s stage.State, e stage.Event, d stage.Decision) stage.Decision {
		if e.On == stage.OnToAnalyse {
			return stage.Decision{State: s, Notes: []string{"not on Fridays"}}
		}
		return d
	}
	d := machine(t, veto).Decide(stage.State{}, stage.Event{On: stage.OnToAnalyse, Derived: stage.Derived{Verdict: stage.Verdict{Outcome: stage.Green}}})
	require.Equal(t, []string{"not on Fridays"}, d.Notes)
	require.Equal(t, stage.None, d.State.Stage)
}

func TestStageInfo(t *testing.T) {
	m := machine(t)
	require.Equal(t, stage.Tester, m.Info(stage.Testing).Role)
	require.Zero(t, m.Info("nowhere"))
	require.NotEmpty(t, m.Pipeline().Edges)
	require.True(t, stage.Cancelled.Terminal())
	require.False(t, stage.Deploy.Terminal())
	require.Len(t, stage.Stages(), 9)
	require.Len(t, stage.Roles(), 6)
}

func TestDollars(t *testing.T) {
	for micro, want := range map[int64]string{
		0: "$0.00", 42: "$0.0000", 50: "$0.0001", 42_000: "$0.0420", 99_999: "$0.1000", 100_000: "$0.10",
		1_005_000: "$1.01", 12_345_678: "$12.35", -100_000: "-$0.10",
	} {
		require.Equal(t, want, stage.Dollars(micro), "%d", micro)
	}
}

// anyState draws a state, also ones that no history leads to.
func anyState(t *rapid.T) stage.State {
	return stage.State{
		Stage:       rapid.SampledFrom(append(stage.Stages(), stage.None, "nowhere")).Draw(t, "stage"),
		Phase:       rapid.SampledFrom([]stage.Phase{"", stage.PhaseAwait, stage.PhaseMerge, stage.PhaseRelease, "odd"}).Draw(t, "phase"),
		Run:         rapid.Int64Range(-1, 3).Draw(t, "run"),
		Active:      rapid.SampledFrom(append(stage.Roles(), "", "odd")).Draw(t, "active"),
		Retries:     rapid.IntRange(-1, 5).Draw(t, "retries"),
		Hold:        rapid.SampledFrom([]stage.Hold{"", stage.HoldApproval, stage.HoldConfirm, stage.HoldBlocked, stage.HoldNeedsInput}).Draw(t, "hold"),
		Head:        rapid.SampledFrom([]string{"", "aa", "bb"}).Draw(t, "head"),
		Set:         rapid.SampledFrom([]stage.Status{"", stage.StatusBlocked, stage.StatusInProgress}).Draw(t, "set"),
		SelfHosting: rapid.Bool().Draw(t, "self"),
		CINone:      rapid.Bool().Draw(t, "ci none"),
		NoDeploy:    rapid.Bool().Draw(t, "no deploy"),
	}
}

func anyEvent(t *rapid.T) stage.Event {
	e := stage.Event{
		On:     rapid.SampledFrom(append(stage.Triggers(), "odd", "")).Draw(t, "on"),
		At:     t0,
		Run:    rapid.Int64Range(-1, 3).Draw(t, "event run"),
		Reason: rapid.String().Draw(t, "reason"),
		SHA:    rapid.SampledFrom([]string{"", "aa", "cc"}).Draw(t, "sha"),
		Final:  rapid.Bool().Draw(t, "final"),
		Derived: stage.Derived{Verdict: stage.Verdict{
			Outcome: rapid.SampledFrom([]stage.Outcome{"", stage.Green, stage.Red, stage.Defer, stage.Error, "odd"}).Draw(t, "verdict"),
			Reason:  rapid.String().Draw(t, "why"),
		}},
	}
	if rapid.Bool().Draw(t, "report") {
		e.Agent = &stage.Report{Role: stage.Tester, Questions: rapid.StringN(0, 3, -1).Draw(t, "questions")}
	}
	return e
}

// TestLaws checks what holds for every decision.
func TestLaws(t *testing.T) {
	m := machine(t)
	rapid.Check(t, func(rt *rapid.T) {
		s, e := anyState(rt), anyEvent(rt)
		checkLaws(rt, m, s, e)
	})
}

func checkLaws(t require.TestingT, m *stage.Machine, s stage.State, e stage.Event) {
	before, _ := json.Marshal(s)
	d := m.Decide(s, e)
	after, _ := json.Marshal(d.State)
	edge, matched := m.Edge(s, e)

	require.NotEmpty(t, d.Notes, "a decision says why")
	require.Equal(t, d.Moved, string(before) != string(after), "Moved tells whether the state has changed")
	if d.Moved {
		require.Equal(t, s.Seq+1, d.State.Seq)
		require.True(t, matched)
	}
	if s.Stage.Terminal() {
		require.False(t, d.Moved, "a terminal stage absorbs every event")
		require.Empty(t, d.Effects)
		require.Nil(t, d.Launch)
	}
	if matched && len(edge.Gates) > 0 && e.Verdict.Outcome != stage.Green && edge.To != edge.From {
		require.False(t, d.State.Stage == edge.To && edge.To != stage.Development && s.Stage != edge.To, "nobody passes a gate that is not green")
	}
	if d.Launch != nil {
		require.Equal(t, d.State.Active, d.Launch.Role)
		require.Equal(t, d.State.Run, d.Launch.Run)
		require.Equal(t, s.Run+1, d.Launch.Run, "a run number is used once")
		require.True(t, s.Active == "" || d.Cancel || e.On == stage.OnAgentFinished, "at most one job is active")
	}
	require.Equal(t, d, m.Decide(s, e), "the same question has the same answer")
	for _, f := range d.Effects {
		if f.Kind == stage.EffectStatus {
			require.NotContains(t, f.Replaces, stage.StatusStop, "a human's STOP is never overwritten")
		}
	}
}

// FuzzDecide checks the laws on states and events that are decoded from JSON.
func FuzzDecide(f *testing.F) {
	f.Add(`{"stage":"analysis","run":1,"active":"analyst"}`, `{"on":"agent_finished","run":1,"agent":{"role":"analyst"}}`)
	f.Add(`{"stage":"deploy","phase":"merge"}`, `{"on":"merge_failed","reason":"x"}`)
	f.Add(`{"stage":"development","hold":"blocked","retries":3}`, `{"on":"in_progress"}`)
	f.Add(`{}`, `{"on":"to_analyse","verdict":{"outcome":"green"}}`)
	m := machine(f)
	f.Fuzz(func(t *testing.T, state, event string) {
		var s stage.State
		var e stage.Event
		if json.Unmarshal([]byte(state), &s) != nil || json.Unmarshal([]byte(event), &e) != nil {
			t.Skip()
		}
		if e.Agent != nil && s.Active == "" && e.On == stage.OnAgentFinished {
			e.Run = s.Run
		}
		checkLaws(t, m, s, e)
	})
}

func BenchmarkDecide(b *testing.B) {
	m := machine(b)
	s := stage.State{Stage: stage.Review, Run: 4, Active: stage.Reviewer, Head: "c1"}
	e := stage.Event{On: stage.OnAgentFinished, Run: 4, SHA: "d1", Agent: &stage.Report{Role: stage.Reviewer}, Derived: stage.Derived{Verdict: stage.Verdict{Outcome: stage.Green}}}
	b.ReportAllocs()
	for b.Loop() {
		m.Decide(s, e)
	}
}

// The deployer that deploys what was merged is alone, with any other role still at work.
func TestReleaseCancelsWhoIsAtWork(t *testing.T) {
	d := machine(t).Decide(stage.State{Stage: stage.Deploy, Phase: stage.PhaseMerge, Active: stage.Analyst}, stage.Event{On: stage.OnMergeDone, At: t0})
	require.NotNil(t, d.Launch)
	require.True(t, d.Cancel)
}

// A word of a commit that is not the head any more moves nothing, whichever it is: the head may move between
// the request and its event.
func TestWordsAreOfTheHead(t *testing.T) {
	t.Parallel()
	waits := stage.State{Stage: stage.Analysis, Hold: stage.HoldApproval, Head: "b"}
	for _, on := range []stage.Trigger{stage.OnApproved, stage.OnRejected} {
		ev := stage.Event{On: on, At: t0, Reason: "r", Of: "a", Derived: stage.Derived{Verdict: stage.Verdict{Outcome: stage.Green}}}
		d := machine(t).Decide(waits, ev)
		require.Equal(t, stage.HoldApproval, d.State.Hold, on)
		require.Nil(t, d.Launch, on)
		require.Contains(t, d.Notes[0], "the task has moved on since that was read")
		ev.Of = "b"
		require.NotNil(t, machine(t).Decide(waits, ev).Launch, on)
	}
}
