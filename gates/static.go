package gates

import (
	"context"

	"github.com/signalbox-dev/signalbox/githost"
)

// StaticCI answers for CI from a map of commits: a double for tests.
type StaticCI map[string][]githost.Check

// Checks implements CI.
func (s StaticCI) Checks(_ context.Context, _, sha string) ([]githost.Check, error) {
	return s[sha], nil
}

// StaticReviews answers with a fixed list of reviews: a double for tests.
type StaticReviews []githost.Review

// Reviews implements Reviews.
func (s StaticReviews) Reviews(context.Context, string, string) ([]githost.Review, error) {
	return s, nil
}

// StaticCommands answers every command alike: a double for tests.
type StaticCommands struct {
	Exit   int
	Stderr string
	Err    error
}

// RunCheck implements Commands.
func (s StaticCommands) RunCheck(context.Context, []string, Subject) (int, string, error) {
	return s.Exit, s.Stderr, s.Err
}

// Func makes a gate of a function.
func Func(name string, judge func(context.Context, Subject) Verdict) Gate {
	return funcGate{name, judge}
}

type funcGate struct {
	name  string
	judge func(context.Context, Subject) Verdict
}

func (f funcGate) Name() string                                 { return f.name }
func (f funcGate) Judge(ctx context.Context, s Subject) Verdict { return f.judge(ctx, s) }
