package orchestrator

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
)

// Where repositories are hosted.
const (
	HostGitHub = "github"
	HostGit    = "git" // nowhere: a path, or a URL that git clones from; see githost.Plain
)

// Plain reports whether the repository is git and nothing else: it has no pull requests,
// no reviews of people, no webhooks, and no CI but the commands of its entry.
func (p Project) Plain() bool { return p.Host == HostGit }

// noCI reports whether nothing tests the repository.
func (p Project) noCI() bool { return p.CINone || p.Plain() && len(p.CI) == 0 }

// contexts are the checks that CI has to report.
func (p Project) contexts() []string {
	if p.Plain() {
		return lines(p.CI)
	}
	return p.Contexts
}

// scp is the short form of an ssh URL.
var scp = regexp.MustCompile(`^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^:]`)

// checkHost returns the first field that does not fit where the repository is hosted, and
// why.
func (p Project) checkHost() (field, wrong string) {
	hasEmpty := slices.ContainsFunc(p.CI, func(argv []string) bool { return len(argv) == 0 || argv[0] == "" })
	switch {
	case !slices.Contains([]string{"", HostGitHub, HostGit}, p.Host):
		return "host", fmt.Sprintf("is %q, want github (the default), or git for a repository without a git host", p.Host)
	case !p.Plain() && len(p.CI) > 0:
		return "ci", "has commands, which the service runs only where a repository has no git host (host: git): name the checks that the host reports, such as [build, test]"
	case !p.Plain():
		return "", ""
	case len(p.Contexts) > 0:
		return "ci", fmt.Sprintf("names checks (%s), and nobody reports any where there is no git host: write commands that the service runs, such as [[go, test, ./...]]", strings.Join(p.Contexts, ", "))
	case hasEmpty:
		return "ci", "has an empty command, want lists of an executable and its arguments such as [go, test, ./...]"
	case len(p.Reviewers) > 0:
		return "reviewers", "names accounts of a git host, and the repository has none: nobody can review there, and the reviewer's report is what counts; leave it out"
	default:
		return "clone_url", wrongCloneURL(p.CloneURL)
	}
}

// wrongCloneURL says what is wrong with where git clones from; the URL may hold a
// password, and is not repeated.
func wrongCloneURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case filepath.IsAbs(text), scp.MatchString(text) && !strings.Contains(text, "://"):
		return ""
	case err == nil && u.User != nil && u.Scheme != "ssh":
		return "has a user or a password in it: leave them out, git's credential is a setting (ORCH_GITHUB_CLONE_BASE with ORCH_GITHUB_TOKEN), or use ssh"
	case err == nil && slices.Contains([]string{"file", "ssh", "https", "http", "git"}, u.Scheme) && u.Path != "":
		return ""
	default:
		return "is not what git can clone from: want an absolute path such as /srv/git/app.git, or a URL such as ssh://git@example.org/app.git or https://example.org/app.git"
	}
}

// hosts returns the field of an entry that the engine's parts are not made for, and why.
func (e *Engine) hosts(p Project) (field, wrong string) {
	_, plain := e.Host.(githost.Plain)
	switch {
	case p.Plain() && !plain:
		return "host", "is git, and the git host of this program serves no repository without one (githost.Plain)"
	case len(p.CI) > 0 && e.Commands == nil:
		return "ci", "has commands, and none can be run by this program (Deps.Commands)"
	default:
		return "", ""
	}
}

// confirmLanded looks whether main of a plain repository has the head of a task: whoever
// has pushed it there. A nil outcome says that it has.
func (e *Engine) confirmLanded(ctx context.Context, host githost.Plain, p Project, t Task, ev *stage.Event) *queue.Outcome {
	head := t.State.Head
	if head != "" && head == t.State.Landed {
		return done("that merge was deployed and rejected")
	}
	landed, err := githost.Landed(ctx, host, p.Repo, p.Main, head)
	switch {
	case err != nil:
		return again(err)
	case !landed:
		return done(fmt.Sprintf("%s does not have %s at %.12s", p.Main, t.Branch, head))
	default:
		ev.SHA = head
		return nil
	}
}
