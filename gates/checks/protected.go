package checks

import (
	"context"

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
		// Programs that a clone of a person runs by itself.
		"**/.husky", "**/.githooks", "**/.pre-commit-config.yaml", "**/.envrc", "**/.vscode", "**/.devcontainer", "**/.devcontainer.json",
	)
}

// shown is how many paths a verdict names.
const shown = 20

// protectedPaths judges what the branch changes against main. A person who stands for a
// commit stands for the protected files as they are there, whatever else comes after.
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
	if len(changed) == 0 {
		return gates.Greenf("no protected path is changed at %.12s", s.SHA)
	}
	if s.Vouched != "" {
		since, err := s.Changes.Changed(ctx, s.Vouched, patterns)
		if fault.Retryable(err) {
			return unreachable("what has changed since a person has looked", err)
		}
		if err == nil && len(since) == 0 {
			approval := gates.Evidence{Kind: "approval", Name: s.Vouched, OK: true}
			return gates.Greenf("a person stands for the protected paths as of %.12s", s.Vouched).With(approval)
		}
	}
	listed := changed[:min(shown, len(changed))]
	v := gates.Redf("%.12s changes protected paths: %s", s.SHA, stage.ListPaths(listed, len(changed)-len(listed)))
	v.Asks = true
	for _, name := range listed {
		v = v.With(gates.Evidence{Kind: "file", Name: name, Note: "protected, and changed"})
	}
	return v
}
