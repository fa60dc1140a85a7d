package checks_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/gates/fixture"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// frozen judges a subject, and gives it again with frozen readers as a store would keep them.
func frozen(t *testing.T, r *gates.Registry, s gates.Facts, check string) (v gates.Verdict, thawed gates.Facts, missed func() []string) {
	t.Helper()
	seen, of := gates.Record(s)
	if s.Commands != nil {
		seen.Commands = of.Noted(s.Commands)
	}
	v = r.Judge(context.Background(), seen, check)
	body, err := json.Marshal(of.Freeze(context.Background()))
	require.NoError(t, err)
	var kept gates.Frozen
	require.NoError(t, json.Unmarshal(body, &kept))
	s.Tree, s.CI, s.Reviews, s.Changes, s.Commands = nil, nil, nil, nil, nil
	s, missed = kept.Thaw(s, of.Diff())
	return v, s, missed
}

// Every case of every gate is judged alike once it was frozen.
func TestFrozenSubjectsAreJudgedAlike(t *testing.T) {
	r, err := gates.NewRegistry(append(checks.All(nil), checks.Command("check_command", "lint"))...)
	require.NoError(t, err)
	cases, err := fixture.Read(os.DirFS("testdata"), "*.json")
	require.NoError(t, err)
	judged := 0
	for _, c := range cases {
		if !r.Has(c.Check) {
			continue
		}
		s := c.Subject.Build()
		v, again, missed := frozen(t, r, s, c.Check)
		now := r.Judge(context.Background(), again, c.Check)
		require.Equal(t, v.Outcome, now.Outcome, "%s: %s, then %s", c.Name, v.Reason, now.Reason)
		if len(missed()) == 0 {
			require.Equal(t, v.Reason, now.Reason, c.Name)
		}
		judged++
	}
	require.Greater(t, judged, 100)
}

// What another policy requires is judged by the names that are there, and what nobody has read is no verdict.
func TestFrozenSubjectsUnderAnotherPolicy(t *testing.T) {
	r, err := gates.NewRegistry(append(checks.All(nil), checks.Command("lint", "lint"))...)
	require.NoError(t, err)
	docs := "docs/work/A-1/"
	s := gates.Facts{SHA: "aa", Stage: stage.Architecture, Task: gates.Task{Docs: "docs/work/A-1"}, Tree: fstest.MapFS{
		docs + "design.md": {Data: []byte("design")}, docs + "plan.md": {Data: []byte("plan")}, docs + "empty.md": {},
	}, Changes: gates.StaticChanges{Paths: map[string][]string{"": {"src/a.go", docs + "plan.md"}}}}
	s.Policy.Required = map[stage.Stage][]string{stage.Architecture: {"design.md"}}
	v, again, missed := frozen(t, r, s, checks.ArchitectureReady)
	require.True(t, v.Passed(), v.Reason)
	for name, want := range map[string]gates.Outcome{"plan.md": gates.Green, "empty.md": gates.Red, "threats.md": gates.Red} {
		again.Policy.Required = map[stage.Stage][]string{stage.Architecture: {"design.md", name}}
		require.Equal(t, want, r.Judge(context.Background(), again, checks.ArchitectureReady).Outcome, name)
	}
	require.True(t, r.Judge(context.Background(), again, checks.WorkDone).Passed(), "all that the branch changes is kept")
	require.Empty(t, missed())
	for _, check := range []string{checks.CIGreen, checks.ReviewApproved, "lint"} {
		before := len(missed())
		again.Stage = stage.Development
		if v := r.Judge(context.Background(), again, check); check != checks.ReviewApproved {
			require.Equal(t, gates.Error, v.Outcome, check)
			require.Greater(t, len(missed()), before, check)
		}
	}
}
