package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker/cards"
	"github.com/signalbox-dev/signalbox/tracker/mux"
)

// visit is the examination of a project's repository on a git host.
type visit struct {
	about
	task.Project
	v    *Service
	at   neighbour
	host GitHost
	page string // of the repository, for people
}

// hosted examines a repository on a git host: whether the service may do there what a card needs.
func (d *doctor) hosted(ctx context.Context, v *Service, p task.Project) {
	n, _ := v.hostOf(p)
	x := visit{d.of(p.Prefix), p, v, n, v.Hosts[n.Name], ""}
	r, err := x.host.Repository(ctx, p.HostPath())
	if errors.Is(err, githost.ErrNotFound) {
		err = fmt.Errorf("%w: correct repo in %s, or let the token see it: %s", err, v.Settings.Projects, n.tokenPage(n))
	}
	if err != nil {
		x.Bad("%w", err)
		return
	}
	x.page = cmp.Or(p.WebURL, strings.TrimSuffix(r.CloneURL, ".git"))
	var app string
	var lacks []string
	if may, ok := x.host.(interface {
		Rights(ctx context.Context, repo string) (app string, lacks []string, err error)
	}); ok {
		app, lacks, err = may.Rights(ctx, p.HostPath())
	}
	switch {
	case r.Archived:
		x.Bad("%s is archived, and takes no commit: unarchive it at %s/settings, or take it out of %s",
			p.Repo, x.page, v.Settings.Projects)
	case err != nil:
		x.Bad("%w", err)
	case len(lacks) > 0:
		x.Bad("the app %s lacks permissions for %s: %s: give them to it in its settings, "+
			"and accept them where it is installed", app, p.Repo, strings.Join(lacks, ", "))
	case app != "":
		x.OK("the app %s has the permissions that cards of %s need", app, p.Repo)
	case !r.Push:
		x.Bad("the token may read %s and not push to it: "+
			"give it write access to contents and pull requests at %s", p.Repo, n.tokenPage(n))
	default:
		x.OK("the token may push to %s", p.Repo)
	}
	rules, err := x.rules(ctx)
	if err != nil {
		x.Bad("%w", err)
		return
	}
	x.merging(r, rules)
	x.main(ctx, r, rules)
	x.hooks(ctx, d.Fix)
}

// rules are the rules of main, as far as its host shows them.
func (x visit) rules(ctx context.Context) (githost.Rules, error) {
	if ruled, ok := x.host.(githost.Ruled); ok {
		return ruled.Rules(ctx, x.HostPath(), x.Main)
	}
	b, err := x.host.Protection(ctx, x.HostPath(), x.Main)
	if errors.Is(err, githost.ErrNotFound) { // said elsewhere
		return githost.Rules{}, nil
	}
	var out githost.Rules
	for _, name := range b.Contexts {
		out.Demands = append(out.Demands, githost.Demand{Context: name, By: "the protection of " + x.Main})
	}
	return out, err
}

// main examines the main branch: at its host, and by the address that git clones from.
func (x visit) main(ctx context.Context, r githost.Repository, rules githost.Rules) {
	b, err := x.host.Protection(ctx, x.HostPath(), x.Main)
	if errors.Is(err, githost.ErrNotFound) {
		err = fmt.Errorf("%s has no branch %s: push a first commit to it, or name another in main (its default is %s)",
			x.Repo, x.Main, r.DefaultBranch)
	}
	if err != nil {
		x.Bad("%w", err)
		return
	}
	heads, err := x.v.Git.Heads(ctx, work.Workspace{Repo: x.Repo, CloneURL: x.CloneURL, Main: x.Main})
	switch {
	case err != nil:
		x.Bad("clone_url: git cannot read it: %w: %s says that it is %s", err, x.at.title, r.CloneURL)
	case heads[x.Main] != b.SHA:
		x.Bad("clone_url is another repository than %s: %s is at %.12s there "+
			"and at %.12s at %s, which says that it is %s", x.Repo, x.Main, heads[x.Main], b.SHA, x.at.title, r.CloneURL)
	default:
		x.OK("the repository %s answers, and %s is at %.12s", x.Repo, x.Main, b.SHA)
	}
	x.contexts(ctx, b.SHA, rules.Demands)
}

// merging compares how pull requests are to be merged with what the repository and the rules of
// main allow.
func (x visit) merging(r githost.Repository, rules githost.Rules) {
	page := x.page + "/settings"
	allowed := r.Methods
	if rules.Methods != nil {
		allowed = slices.DeleteFunc(slices.Clone(allowed), func(m string) bool { return !slices.Contains(rules.Methods, m) })
	}
	switch {
	case rules.Queue != "":
		x.OK("pull requests go into the merge queue that %s demands", rules.Queue)
	case len(allowed) == 0:
		x.Bad("%s allows no method of merging: allow merge commits at %s", x.Repo, page)
	case x.Merge != githost.MergeAny && !slices.Contains(allowed, string(x.Merge)):
		x.Bad("merge is %s, and %s is merged by %s alone: every merge would be refused; "+
			"allow it at %s, or correct merge in %s", x.Merge, x.Repo, strings.Join(allowed, ", "), page, x.v.Settings.Projects)
	case x.Merge != githost.MergeAny:
		x.OK("pull requests may be merged by %s, which merge names", x.Merge)
	case !slices.Contains(allowed, string(githost.MergeCommit)):
		x.Warn("%s allows no merge commits: pull requests are merged by %s", x.Repo, allowed[0])
	default:
		x.OK("pull requests may be merged by %s", strings.Join(allowed, ", "))
	}
}

// contexts compares the checks that the registry waits for, and those that rules demand, with
// those that have reported on main, which is at a commit.
func (x visit) contexts(ctx context.Context, sha string, demands []githost.Demand) {
	for _, k := range demands {
		switch {
		case x.CINone:
			x.Bad("%s demands the check %s, and ci is none: every merge would be refused; name it in ci",
				k.By, k.Context)
		case len(x.Contexts) > 0 && !slices.Contains(x.Contexts, k.Context):
			x.Warn("%s demands the check %s, which ci does not name: cards wait for it all the same", k.By, k.Context)
		}
	}
	if x.CINone || len(x.Contexts)+len(demands) == 0 {
		return
	}
	list, err := x.host.Checks(ctx, x.HostPath(), x.Main, sha)
	if err != nil {
		x.Bad("%w", err)
		return
	}
	var seen, known []string // reported, and demanded as well
	for _, c := range list {
		if c.State != githost.CheckExpected {
			seen = append(seen, c.Name)
		}
	}
	known = slices.Clone(seen)
	for _, k := range demands {
		known = append(known, k.Context)
		if near := nearest(k.Context, seen); !slices.Contains(seen, k.Context) {
			x.Warn("%s demands the check %s, and nothing has reported one of that name on %s: cards wait for it, at most %s, "+
				"which is right when it runs on pull requests alone%s; else correct the rule%s",
				k.By, k.Context, x.Main, x.v.Settings.Engine.CIWait, x.unpinned(k.Context, k.App), near)
		}
	}
	for _, name := range x.Contexts {
		near := nearest(name, known)
		switch {
		case slices.Contains(known, name):
			x.OK("ci: %s is a check of %s", name, x.Main)
		case near != "":
			x.Bad("ci: no check of %s is called %s%s Correct it in %s", x.Main, name, near, x.v.Settings.Projects)
		case len(known) == 0:
			x.Warn("ci: no check has reported on %s yet, so nobody can say whether %s is one", x.Main, name)
		default:
			x.Warn("ci: no check of %s is called %s (it has %s): cards wait for it, "+
				"which is right when it runs on pull requests alone%s", x.Main, name, strings.Join(known, ", "), x.unpinned(name, 0))
		}
	}
}

// unpinned warns of a check of which neither main, a rule or the project's entry says who reports it; empty: one does.
func (x visit) unpinned(name string, app int64) string {
	if app != 0 || x.Issuers[name] != "" {
		return ""
	}
	return fmt.Sprintf("; whoever may write there can report it then: say who does, as in ci: [{name: %s, app: …}]", name)
}

// hooks examines what a git host sends, and registers it with fix.
func (x visit) hooks(ctx context.Context, fix bool) {
	s := x.v.Settings
	if s.PublicURL == "" {
		x.Warn("webhooks: %sPUBLIC_URL is not set, so nobody can say whether those of %s arrive; "+
			"without them CI is looked at every %s", Prefix, x.at.title, s.Engine.Stage.CIPoll)
		return
	}
	target, page := s.publicURL()+x.at.path, x.page+"/settings/hooks"
	list, err := x.host.Webhooks(ctx, x.HostPath())
	if errors.Is(err, githost.ErrNotFound) || errors.Is(err, githost.ErrDenied) {
		x.Warn("webhooks: the token may not see them (it needs administration of %s): look whether one to %s is at %s",
			x.Repo, target, page)
		return
	}
	if err != nil {
		x.Bad("%w", err)
		return
	}
	at := slices.IndexFunc(list, func(h githost.Webhook) bool { return h.URL == target })
	if at < 0 {
		x.addHook(ctx, fix, target, page)
		return
	}
	switch h := list[at]; {
	case !h.Active:
		x.Bad("webhooks: the one to %s is switched off: make it active at %s", target, page)
	case len(h.Lacks) > 0:
		x.Bad("webhooks: the one to %s lacks the events %s: add them at %s",
			target, strings.Join(h.Lacks, ", "), page)
	case h.Last == http.StatusUnauthorized || h.Last == http.StatusForbidden:
		x.Bad("webhooks: the last delivery to %s was answered %d: its secret is not %s; set the same one at %s",
			target, h.Last, x.at.secretName, page)
	case h.Last != 0 && h.Last/100 != 2:
		x.Bad("webhooks: the last delivery to %s was answered %d (%s): look whether the address leads here",
			target, h.Last, h.Note)
	case h.Last == 0:
		x.OK("webhooks: one to %s is there, and nothing was delivered yet", target)
	default:
		x.OK("webhooks: one to %s is there, and its last delivery was answered %d", target, h.Last)
	}
}

// addHook registers the webhook, or says that it is missing.
func (x visit) addHook(ctx context.Context, fix bool, target, page string) {
	if !fix {
		x.Bad("webhooks: none is registered to %s: signalbox doctor --fix does it, or make one at %s", target, page)
		return
	}
	secret := x.at.commonSecret()
	if secret == "" {
		x.Bad("webhooks: the project has a secret of its own: make one to %s with it at %s", target, page)
		return
	}
	made := x.host.AddWebhook(ctx, x.HostPath(), target, secret)
	x.Check("webhooks: one to "+target+" was registered", "", made)
}

// addColumns makes the columns that a board lacks, also those in whose place another one
// serves, and gives what it has then.
func (d *doctor) addColumns(ctx context.Context, v *Service, p task.Project, columns map[stage.Status]string) map[stage.Status]string {
	board, id := v.Boards[p.Board], mux.ID(p.Board, p.Sync())
	if board == nil {
		return columns
	}
	for _, s := range cards.Columns()[1:] { // boards show them as they were made
		if !strings.EqualFold(strings.TrimSpace(columns[s.Status]), s.Name) {
			how := "add a column " + s.Name + " to the board yourself, or let the token's account be a member of the project"
			d.of(p.Prefix).Check("the column "+s.Name+" was made", how, board.AddColumn(ctx, id, s.Status))
		}
	}
	if now, err := v.Tracker.Columns(ctx, p.Sync()); err == nil {
		return now
	}
	return columns
}
