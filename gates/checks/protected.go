package checks

import (
	"context"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// DefaultProtected are patterns (see stage.Paths) of the files that say what is run by
// itself, who must agree, and what agents are told to do: what a branch changes there, a
// person has to see.
func DefaultProtected() []string {
	return append(stage.AgentSettings(),
		".github/workflows", ".github/actions", ".gitea/workflows", ".forgejo/workflows",
		".gitlab-ci.yml", ".gitlab/ci", ".circleci", ".buildkite",
		"**/Jenkinsfile", ".drone.yml", ".drone.yaml", ".woodpecker", ".woodpecker.yml", ".woodpecker.yaml", ".travis.yml",
		"azure-pipelines.yml", "bitbucket-pipelines.yml", "CODEOWNERS", ".github/CODEOWNERS", ".gitlab/CODEOWNERS", "docs/CODEOWNERS",
		".signalbox",
	)
}

// shown is how many paths a verdict names.
const shown = 20

// protectedPaths judges what the branch changes against main: protected files, and tests that are taken away. A person
// who stands for a commit stands for these as they are there, whatever else comes after.
func protectedPaths(ctx context.Context, s gates.Facts) gates.Verdict {
	patterns := s.Policy.Protected
	if len(patterns) == 0 {
		return gates.Greenf("the repository protects no path")
	}
	if s.Changes == nil || s.SHA == "" {
		return gates.Errorf("what the branch changes cannot be read: %v", errNoTree)
	}
	changed, err := s.Changes.Changed(ctx, "", patterns)
	if err != nil {
		return unreachable("what the branch changes", err)
	}
	diff, cut, err := s.Changes.Diff(ctx)
	if err != nil {
		return unreachable("what the branch changes", err)
	}
	weaker, unread := weakened(diff, cut)
	if len(changed)+len(weaker)+len(unread) == 0 {
		return gates.Greenf("no protected path is changed at %.12s", s.SHA)
	}
	if s.Vouched.SHA != "" {
		if len(weaker)+len(unread) > 0 {
			patterns = append(slices.Clone(patterns), testFiles()...)
		}
		since, err := s.Changes.Changed(ctx, s.Vouched.SHA, patterns)
		if fault.Retryable(err) {
			return unreachable("what has changed since a person has looked", err)
		}
		if err == nil && len(since) == 0 {
			return gates.Greenf("a person stands for the protected paths as of %.12s", s.Vouched.SHA).With(vouched(s))
		}
	}
	v, why := gates.Verdict{}, []string(nil)
	name := func(does string, list []string, note string) {
		said := list[:min(shown, len(list))]
		if len(list) > 0 {
			why = append(why, does+": "+stage.ListPaths(said, len(list)-len(said)))
		}
		for _, one := range said {
			v = v.With(gates.Evidence{Kind: "file", Name: one, Note: note})
		}
	}
	name("changes protected paths", changed, "protected, and changed")
	name("takes tests away", weaker, "a test is removed or not run")
	name("changes more in files with tests than can be looked at", unread, "its change is too large")
	red := gates.Redf("%.12s %s", s.SHA, strings.Join(why, "; "))
	red.Evidence, red.Asks = v.Evidence, true
	return red
}
