package checks

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// ciFiles are where the usual CI systems are configured in a repository.
func ciFiles() []string {
	return []string{
		".github/workflows/*.y*ml", ".gitea/workflows/*.y*ml", ".forgejo/workflows/*.y*ml", ".gitlab-ci.yml", ".circleci/config.yml",
		".woodpecker.y*ml", ".woodpecker/*.y*ml", ".drone.yml", ".travis.yml", "azure-pipelines.yml", "Jenkinsfile", "buildkite.yml", ".buildkite/*.y*ml",
		".ci/*",
	}
}

// ciGreen judges the CI results of the branch head.
func ciGreen(ctx context.Context, s gates.Facts) gates.Verdict {
	if s.Policy.CINone && s.Policy.Plain {
		return gates.Greenf("CI: none configured (the repository has no git host, and its entry names no command in ci: nothing was tested)")
	}
	if s.Policy.CINone {
		return gates.Greenf("the repository declares that it has no CI (ci: none)")
	}
	if s.CI == nil || s.SHA == "" {
		return gates.Errorf("there is nothing to ask about CI: no commit, or no git host")
	}
	list, err := s.CI.Checks(ctx, s.Task.Repo, s.SHA)
	if err == nil && len(list) == 0 && s.Stage == stage.DeployStaging {
		list, s.SHA, err = sameCodeChecks(ctx, s)
	}
	if err != nil {
		return unreachable("the CI results", err)
	}
	if len(list) == 0 && len(s.Policy.Contexts) == 0 {
		return noCI(s)
	}
	return judgeCI(s, list)
}

// sameCodeMax bounds for how many commits the CI results are read.
const sameCodeMax = 10

// sameCodeChecks finds the results of the newest commit with the head's code that
// has any: a CI that skips commits of documents never reports on the head.
func sameCodeChecks(ctx context.Context, s gates.Facts) ([]githost.Check, string, error) {
	for _, sha := range s.SameCode[:min(len(s.SameCode), sameCodeMax)] {
		if list, err := s.CI.Checks(ctx, s.Task.Repo, sha); err != nil || len(list) > 0 {
			return list, sha, err
		}
	}
	return nil, s.SHA, nil
}

// noCI distinguishes a CI that has not reported yet from none at all: by the files that
// CI systems are configured with.
func noCI(s gates.Facts) gates.Verdict {
	if s.Unpublished {
		return gates.Deferf("%.12s is not published yet", s.SHA)
	}
	if s.Tree != nil {
		for _, pattern := range ciFiles() {
			if found, _ := fs.Glob(s.Tree, pattern); len(found) > 0 {
				return gates.Deferf("CI has not reported anything for %.12s yet", s.SHA).With(gates.Evidence{Kind: "file", Name: found[0], Note: "configures CI", OK: true})
			}
		}
	}
	return gates.Redf("no CI is configured: add one, name its checks in the project's entry, or say there that it has none (ci: none)").
		With(gates.Evidence{Kind: "check", Name: "any", Note: fmt.Sprintf("nothing was reported for %.12s", s.SHA)})
}

func judgeCI(s gates.Facts, list []githost.Check) gates.Verdict {
	var failed, open []string
	var evidence []gates.Evidence
	for _, c := range list {
		note := string(c.State)
		if c.Note != "" {
			note += ": " + c.Note
		}
		evidence = append(evidence, gates.Evidence{Kind: "check", Name: c.Name, Note: note, OK: c.State == githost.CheckPassed})
		switch c.State {
		case githost.CheckFailed, githost.CheckCancelled:
			failed = append(failed, c.Name+" "+note)
		case githost.CheckPassed:
		default:
			open = append(open, c.Name)
		}
	}
	for _, name := range s.Policy.Contexts {
		if !slices.ContainsFunc(list, func(c githost.Check) bool { return c.Name == name }) {
			open = append(open, name)
			evidence = append(evidence, gates.Evidence{Kind: "check", Name: name, Note: "required, not reported yet"})
		}
	}
	switch {
	case len(failed) > 0:
		return gates.Redf("CI failed at %.12s: %s", s.SHA, strings.Join(failed, "; ")).With(evidence...)
	case len(open) > 0:
		return gates.Deferf("CI is not finished at %.12s: %s", s.SHA, strings.Join(open, ", ")).With(evidence...)
	default:
		return gates.Greenf("all %d checks passed at %.12s", len(list), s.SHA).With(evidence...)
	}
}

// Command makes a gate of an executable, run in a checkout of the judged
// commit (see gates.Commands): exit code 0 is green, 2 is red with what it wrote to stderr as the
// reason, anything else is an error of the check itself. It is a gates.Slow.
func Command(name string, argv ...string) gates.Gate { return command{name, argv} }

type command struct {
	name string
	argv []string
}

func (c command) Name() string { return c.name }

// Slow implements gates.Slow.
func (c command) Slow() {}

// Judge implements gates.Gate.
func (c command) Judge(ctx context.Context, s gates.Facts) gates.Verdict {
	if s.Commands == nil || len(c.argv) == 0 {
		return gates.Errorf("the command cannot be run here")
	}
	exit, stderr, err := s.Commands.RunCheck(ctx, c.argv, s)
	if err != nil {
		return unreachable("the command's result", err)
	}
	stderr = strings.TrimSpace(stderr)
	seen := gates.Evidence{Kind: "command", Name: strings.Join(c.argv, " "), Note: fmt.Sprintf("exit code %d", exit), OK: exit == 0}
	switch exit {
	case 0:
		return gates.Greenf("%s passed", c.argv[0]).With(seen)
	case 2:
		if stderr == "" {
			stderr = c.argv[0] + " gave no reason"
		}
		return gates.Redf("%s", stderr).With(seen)
	default:
		return gates.Errorf("%s ended with exit code %d: %s", c.argv[0], exit, stderr).With(seen)
	}
}
