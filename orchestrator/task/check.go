package task

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/prompt"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// FieldError reports what is wrong with one field of one entry.
type FieldError struct {
	Entry int    // from 0
	Repo  string // of the entry; may be empty
	Field string
	Text  string
}

// Error names the entry, the field and what it should be.
func (e *FieldError) Error() string {
	return fmt.Sprintf("project %d (%s): %s: %s", e.Entry+1, e.Repo, e.Field, e.Text)
}

var (
	prefixForm = regexp.MustCompile(`^[A-Z][A-Z0-9]{0,11}$`)
	repoForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$`)
	pathForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)+$`)
)

// scp is the short form of an ssh URL.
var scp = regexp.MustCompile(`^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^:]`)

// check returns the first field that is wrong, and why.
func (p Project) check() (field, wrong string) {
	switch {
	case p.TrackerProject == "":
		return "tracker_project", "is missing: the id of the project on the board"
	case !repoForm.MatchString(p.Repo) && pathForm.MatchString(p.Repo):
		return "repo", fmt.Sprintf("is %q, want owner/name: its name here, and its longer name at the host as path", p.Repo)
	case !repoForm.MatchString(p.Repo):
		return "repo", fmt.Sprintf("is %q, want owner/name", p.Repo)
	case p.Path != "" && !pathForm.MatchString(p.Path):
		return "path", fmt.Sprintf("is %q, want the name of the repository at its host, such as group/team/name", p.Path)
	case p.CloneURL == "":
		return "clone_url", "is missing: what git clones from"
	}
	if wrong := checkPrefix(p.Prefix); wrong != "" {
		return "prefix", wrong
	}
	if field, wrong := p.checkHost(); wrong != "" {
		return field, wrong
	}
	if wrong := p.checkMerge(); wrong != "" {
		return "merge", wrong
	}
	prefixes := []string{p.Prefix}
	for _, b := range p.MoreBoards {
		wrong := checkPrefix(b.Prefix)
		switch {
		case b.TrackerProject == "":
			return "more_boards", "a board has no tracker_project: the id of the project on the board"
		case wrong != "":
			return "more_boards", "the prefix of " + b.TrackerProject + " " + wrong
		case slices.Contains(prefixes, b.Prefix):
			return "more_boards", fmt.Sprintf("two boards have the prefix %s, and so would their work items, branches and documents: "+
				"give each board one of its own", b.Prefix)
		}
		prefixes = append(prefixes, b.Prefix)
	}
	if p.WIP < 0 {
		return "wip", fmt.Sprintf("is %d, want 1 or more: how many tasks are in work at a time "+
			"(leave it out for %d, or write 1000 for no limit)", p.WIP, DefaultWIP)
	}
	if field, wrong := p.People.check(); wrong != "" {
		return field, wrong
	}
	if err := work.CheckKeep(p.Keep); err != nil {
		return "keep", err.Error()
	}
	if err := stage.CheckPatterns(p.Protected.More); err != nil {
		return "protected", err.Error()
	}
	if slices.ContainsFunc(p.Verify, func(argv []string) bool { return len(argv) == 0 || argv[0] == "" }) {
		return "verify", "has an empty command, want lists of an executable and its arguments such as [go, test, ./...]"
	}
	if wrong := p.Probe.check(); wrong != "" {
		return "probe", wrong
	}
	if field, wrong := p.checkTexts(); wrong != "" {
		return field, wrong
	}
	if wrong := p.Hooks.check(); wrong != "" {
		return "hooks", wrong
	}
	for _, role := range slices.Sorted(maps.Keys(p.Writes)) {
		if err := stage.CheckWrites(role, p.Writes[role]); err != nil {
			return "writes", fmt.Sprintf("%s: %v", role, err)
		}
	}
	return "", ""
}

func checkPrefix(prefix string) (wrong string) {
	if !prefixForm.MatchString(prefix) {
		return fmt.Sprintf("is %q, want capitals and digits such as GPX, at most 12", prefix)
	}
	return ""
}

// checkHost returns the first field that does not fit where the repository is hosted, and
// why.
func (p Project) checkHost() (field, wrong string) {
	hasEmpty := slices.ContainsFunc(p.CI, func(argv []string) bool { return len(argv) == 0 || argv[0] == "" })
	switch {
	case !p.Plain() && len(p.CI) > 0:
		return "ci", "has commands, which the service runs only where a repository has no git host (host: git): " +
			"name the checks that the host reports, such as [build, test]"
	case !p.Plain():
		return "", ""
	case len(p.Contexts) > 0:
		return "ci", fmt.Sprintf("names checks (%s), and nobody reports any where there is no git host: "+
			"write commands that the service runs, such as [[go, test, ./...]]", strings.Join(p.Contexts, ", "))
	case hasEmpty:
		return "ci", "has an empty command, want lists of an executable and its arguments such as [go, test, ./...]"
	case len(p.People.AtHost) > 0:
		return "approvers", "names accounts of a git host (host:), and the repository has none; leave them out"
	case len(p.Reviewers) > 0:
		return "reviewers", "names accounts of a git host, and the repository has none: " +
			"nobody can review there, and the reviewer's report is what counts; leave it out"
	default:
		return "clone_url", wrongCloneURL(p.CloneURL)
	}
}

// checkMerge returns what is wrong with how pull requests are merged; empty when nothing is.
func (p Project) checkMerge() (wrong string) {
	const want = "want merge, squash or rebase, or leave it out for the first of them that the repository allows"
	switch {
	case p.Merge == githost.MergeAny:
		return ""
	case p.Plain() && p.Merge == githost.MergeSquash:
		return ""
	case p.Plain():
		return "is for pull requests, and there are none where there is no git host (host: git): " +
			"want squash, or leave it out to have main moved to the branch"
	case p.Merge == "queue":
		return "is queue: a merge queue is used where the rules of main demand it; " + want
	case slices.Contains([]githost.MergeMethod{githost.MergeCommit, githost.MergeSquash, githost.MergeRebase}, p.Merge):
		return ""
	default:
		return fmt.Sprintf("is %q, %s", p.Merge, want)
	}
}

// wrongCloneURL returns what is wrong with where git clones from; the URL may hold a
// password, and is not repeated.
func wrongCloneURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case filepath.IsAbs(text), scp.MatchString(text) && !strings.Contains(text, "://"):
		return ""
	case err == nil && u.User != nil && u.Scheme != "ssh":
		return "has a user or a password in it: leave them out, " +
			"git's credential is a setting (ORCH_GITHUB_CLONE_BASE with ORCH_GITHUB_TOKEN), or use ssh"
	case err == nil && slices.Contains([]string{"file", "ssh", "https", "http", "git"}, u.Scheme) && u.Path != "":
		return ""
	default:
		return "is not what git can clone from: want an absolute path such as /srv/git/app.git, " +
			"or a URL such as ssh://git@example.org/app.git or https://example.org/app.git"
	}
}

// check returns what is wrong; empty when nothing is.
func (p Probe) check() string {
	for name, address := range map[string]string{"staging": p.Staging, "production": p.Production} {
		u, err := url.Parse(address)
		if address != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil) {
			return fmt.Sprintf("%s is %q, want an address without a password such as https://example.org/version, "+
				"or https://example.org/version#commit for the field of a JSON object", name, address)
		}
	}
	return ""
}

// checkTexts returns the first of what the entry says to agents that cannot be used, and
// why.
func (p Project) checkTexts() (field, wrong string) {
	for _, role := range slices.Sorted(maps.Keys(p.Prompts)) {
		if err := prompt.Check(p.Prompts[role]); err != nil {
			return "prompts." + string(role), err.Error()
		}
	}
	for _, at := range []stage.Stage{stage.DeployStaging, stage.Deploy} {
		if n := len(p.Deploy.At(at)); n > prompt.Max {
			return "deploy", fmt.Sprintf("the recipe of %s has %d bytes, and at most %d are taken: "+
				"name a file of the repository that has the rest", at, n, prompt.Max)
		}
	}
	return "", ""
}

// check returns what is wrong; empty when nothing is.
func (h Hooks) check() string {
	const want = "want lists of an executable and its arguments such as [[npm, ci], [./bin/services, up]]"
	for _, one := range []struct {
		name     string
		commands [][]string
	}{{"after_create", h.AfterCreate}, {"before_run", h.BeforeRun}, {"after_run", h.AfterRun}} {
		if slices.ContainsFunc(one.commands, func(argv []string) bool { return len(argv) == 0 || argv[0] == "" }) {
			return one.name + " has an empty command, " + want
		}
	}
	if h.Timeout < 0 || h.Timeout > maxHookTime {
		return fmt.Sprintf("timeout is %s, want at most %s, such as 90s, or leave it out for %s", h.Timeout, maxHookTime, DefaultHookTime)
	}
	return ""
}
