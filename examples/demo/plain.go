package main

import (
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/gitea/giteatest"
	"github.com/signalbox-dev/signalbox/adapters/github/githubtest"
	"github.com/signalbox-dev/signalbox/internal/fakeissues"
)

// Where the repositories of the demonstration are hosted.
const (
	onGitHub = "github"
	onGitea  = "gitea"
	onGit    = "git" // nowhere
)

// codeHost is a git host as the demonstration looks at it.
type codeHost interface {
	http.Handler
	AddRepo(name, bareDir string) error
	SetHookURL(url string)
	Close()
	codeView
}

type codeView interface {
	Heads(repo string) map[string]string
	Merges() int
	Issues() *fakeissues.Issues
}

// openHost makes the git host; pulls lists its pull requests, as repository and branch.
func (o options) openHost(ci func(githubtest.Push) githubtest.Outcome) (host codeHost, pulls func() []string) {
	list := func(add func(func(repo, head string))) func() []string {
		return func() (out []string) {
			add(func(repo, head string) { out = append(out, repo+" "+head) })
			return out
		}
	}
	if o.host == onGitea {
		s := giteatest.New(giteatest.Options{Token: giteaToken, Secret: giteaSecret, Seed: o.seed, CI: ci})
		s.SetFaults(giteatest.Faults{HookLost: o.lose})
		return s, list(func(add func(repo, head string)) {
			for _, p := range s.Pulls() {
				add(p.Repo, p.Head)
			}
		})
	}
	s := githubtest.New(githubtest.Options{Token: githubToken, Secret: githubSecret, Seed: o.seed, CI: ci})
	s.SetFaults(githubtest.Faults{HookLost: o.lose})
	return s, list(func(add func(repo, head string)) {
		for _, p := range s.Pulls() {
			add(p.Repo, p.Head)
		}
	})
}

// wrongHost returns what is wrong with -host; empty: nothing is.
func (o options) wrongHost() string {
	switch {
	case o.host != onGitHub && o.host != onGitea && o.host != onGit:
		return fmt.Sprintf("is %q, want github, gitea or git", o.host)
	case o.host == onGit && o.hostile:
		return "git and -hostile do not go together: one of the attempts is on the workflows of a host"
	case o.host != onGitHub && o.sick.has(theHost):
		return o.host + ": there is no github that could be sick"
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
	board := ""
	if w.o.board == boardLabels {
		board = "board: " + boardLabels + "\n    "
	}
	switch w.o.host {
	case onGit:
		return board + "host: git\n    ci: [[./ci.sh]]"
	case onGitea:
		return board + fmt.Sprintf("host: gitea\n    web_url: %q", "https://git.example.org/"+p.repo)
	}
	return board + fmt.Sprintf("web_url: %q", "https://github.example.org/"+p.repo)
}

// hostSettings are the service's settings of the git host.
func (w *world) hostSettings(base string) map[string]string {
	switch w.o.host {
	case onGitea:
		return nil // its entry has them
	case onGit:
		return map[string]string{"GIT_POLL": max(w.scaled(5*time.Second), 500*time.Millisecond).String()}
	}
	return map[string]string{"GITHUB_URL": base + "/github", "GITHUB_TOKEN": githubToken, "GITHUB_WEBHOOK_SECRET": githubSecret}
}

// heads are the branches of a repository.
func (w *world) heads(p *project) []string {
	if w.o.host != onGit {
		return slices.Collect(maps.Keys(w.host.Heads(p.repo)))
	}
	out, _ := exec.Command("git", "-C", w.bare(p), "for-each-ref", "--format=%(refname:short)", "refs/heads").Output() // none while it is being made
	return strings.Fields(string(out))
}

// neighbours are the registry's entries of git hosts and boards: of a gitea, and of labels.
func (w *world) neighbours(base string) (out string) {
	if w.o.host == onGitea {
		out = fmt.Sprintf("hosts:\n  - {name: gitea, kind: gitea, url: %q, token_env: %s, secret_env: [%s]}\n", base+"/gitea", tokenVariable, secretVariable)
	}
	if w.o.board == boardLabels {
		out += fmt.Sprintf("boards:\n  - {name: labels, kind: labels, host: %s, token_env: %s, secret_env: [%s]}\n", w.o.host, tokenVariable, secretVariable)
	}
	return out
}
