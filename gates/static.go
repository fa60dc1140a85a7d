package gates

import (
	"context"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// StaticCI answers for CI from a map of commits: a double for tests.
type StaticCI map[string][]githost.Check

// Checks implements CI.
func (s StaticCI) Checks(_ context.Context, _, _, sha string) ([]githost.Check, error) {
	return s[sha], nil
}

// StaticReviews answers with a fixed list of reviews: a double for tests.
type StaticReviews []githost.Review

// Reviews implements Reviews.
func (s StaticReviews) Reviews(context.Context, string, string, string) ([]githost.Review, error) {
	return s, nil
}

// StaticChanges answers with the paths that have changed since a commit: a double for
// tests. The key "" is where the branch has left main.
type StaticChanges struct {
	Paths map[string][]string
	Files []FileDiff // of Diff
	Cut   bool
}

// Changed implements Changes.
func (s StaticChanges) Changed(_ context.Context, from string, patterns []string) (list []string, err error) {
	for _, name := range s.Paths[from] {
		if stage.MatchPath(patterns, name) {
			list = append(list, name)
		}
	}
	return list, nil
}

// Diff implements Changes.
func (s StaticChanges) Diff(context.Context) ([]FileDiff, bool, error) { return s.Files, s.Cut, nil }

// StaticCommands answers every command alike: a double for tests.
type StaticCommands struct {
	Exit   int
	Stderr string
	Err    error
}

// RunCheck implements Commands.
func (s StaticCommands) RunCheck(context.Context, []string, Facts) (int, string, error) {
	return s.Exit, s.Stderr, s.Err
}

// Func makes a gate of a function.
func Func(name string, judge func(context.Context, Facts) Verdict) Gate {
	return funcGate{name, judge}
}

type funcGate struct {
	name  string
	judge func(context.Context, Facts) Verdict
}

func (f funcGate) Name() string                               { return f.name }
func (f funcGate) Judge(ctx context.Context, s Facts) Verdict { return f.judge(ctx, s) }
