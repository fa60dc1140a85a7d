package main

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Where the repositories of the demonstration are hosted.
const (
	onGitHub = "github"
	onGit    = "git" // nowhere
)

// wrongHost returns what is wrong with -host; empty: nothing is.
func (o options) wrongHost() string {
	switch {
	case o.host != onGitHub && o.host != onGit:
		return fmt.Sprintf("is %q, want github or git", o.host)
	case o.host == onGit && o.hostile:
		return "git and -hostile do not go together: one of the attempts is on the workflows of a host"
	case o.host == onGit && o.sick.has(theHost):
		return "git: there is no github that could be sick"
	default:
		return ""
	}
}

// ciOf is the CI of a repository without a git host: a program of main, which the service
// runs. It finds what the fake host's CI would.
func (w *world) ciOf() string {
	const program = `#!/bin/sh
name=src/$(echo "$SIGNALBOX_WORK_ITEM" | tr A-Z a-z).txt
sleep %g
if ! [ -e "$name" ]; then echo "there is no code"; exit 1; fi
if grep -q "does not build" "$name"; then echo "$name does not build"; exit 1; fi
echo "built and tested"
`
	return fmt.Sprintf(program, w.scaled(1200*time.Millisecond).Seconds())
}

// hosting is what the registry says of where a project is hosted.
func (w *world) hosting(p *project) string {
	if w.o.host == onGit {
		return "host: git\n    ci: [[./ci.sh]]"
	}
	return fmt.Sprintf("web_url: %q", "https://github.example.org/"+p.repo)
}

// hostSettings are the service's settings of the git host.
func (w *world) hostSettings(base string) map[string]string {
	if w.o.host == onGit {
		return map[string]string{"GIT_POLL": max(w.scaled(5*time.Second), 500*time.Millisecond).String()}
	}
	return map[string]string{"GITHUB_URL": base + "/github", "GITHUB_TOKEN": githubToken, "GITHUB_WEBHOOK_SECRET": githubSecret}
}

// heads are the branches of a repository.
func (w *world) heads(p *project) []string {
	if w.o.host == onGitHub {
		return slices.Collect(maps.Keys(w.host.Heads(p.repo)))
	}
	out, _ := exec.Command("git", "-C", w.bare(p), "for-each-ref", "--format=%(refname:short)", "refs/heads").Output() // none while it is being made
	return strings.Fields(string(out))
}
