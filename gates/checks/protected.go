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
	if cut { // what is behind its end
		tests, err := s.Changes.Changed(ctx, "", testFiles())
		if err != nil {
			return unreachable("what the branch changes", err)
		}
		listed := func(name string) bool {
			return slices.ContainsFunc(diff, func(f gates.FileDiff) bool { return f.Path == name })
		}
		unread = append(unread, slices.DeleteFunc(tests, listed)...)
	}
	if len(changed)+len(weaker)+len(unread) == 0 {
		return gates.Greenf("no protected path is changed at %.12s", s.SHA)
	}
	if len(weaker)+len(unread) > 0 {
		patterns = append(slices.Clone(patterns), testFiles()...)
	}
	accepted, err := Accepted(ctx, s, patterns)
	if err != nil {
		return unreachable("what has changed since a person has looked", err)
	}
	if accepted {
		return gates.Greenf("a person stands for the protected paths as of %.12s", s.Vouched.SHA).With(vouched(s))
	}
	v, why := gates.Verdict{}, []string(nil)
	name := func(does string, list []string, note string) {
		said := list[:min(shown, len(list))]
		if len(list) > 0 {
			why = append(why, does+": "+stage.ListPaths(said, len(list)-len(said)))
		}
		for _, one := range said {
			v = v.With(gates.Evidence{Kind: "file", Name: one, Note: strings.TrimSuffix(note+": "+lines(diff, one), ": ")})
		}
	}
	name("changes protected paths", changed, "protected, and changed")
	name("takes tests away", weaker, "a test is removed or not run")
	name("changes more in files with tests than can be looked at", unread, "its change is too large")
	red := gates.Redf("%.12s %s", s.SHA, strings.Join(why, "; "))
	red.Evidence, red.Asks = v.Evidence, true
	return red
}

// Accepted reports whether a person stands for the files that patterns match as the branch has them. The error is retryable.
func Accepted(ctx context.Context, s gates.Facts, patterns []string) (bool, error) {
	if s.Vouched.SHA == "" {
		return false, nil
	}
	since, err := s.Changes.Changed(ctx, s.Vouched.SHA, patterns)
	if fault.Retryable(err) {
		return false, err
	}
	return err == nil && len(since) == 0, nil
}

// linesShown is how many changed lines of a protected file a verdict has.
const linesShown = 6

// lines are the first changed lines of a file, as a diff has them.
func lines(diff []gates.FileDiff, name string) string {
	var out []string
	at := slices.IndexFunc(diff, func(f gates.FileDiff) bool { return f.Path == name })
	if at < 0 {
		return ""
	}
	_, hunks, _ := strings.Cut(diff[at].Text, "\n@@")
	_, hunks, _ = strings.Cut(hunks, "\n")
	for line := range strings.Lines(hunks) {
		if line = strings.TrimSpace(line); line != "" && (line[0] == '-' || line[0] == '+') && len(out) < linesShown {
			out = append(out, line)
		}
	}
	return strings.Join(out, " ")
}
