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
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker/cards"
	"github.com/signalbox-dev/signalbox/tracker/mux"
)

// hosted examines a repository on a git host: whether the service may do there what a card needs.
func (d *doctor) hosted(ctx context.Context, v *Service, p task.Project) {
	n, _ := v.hostOf(p)
	host := v.Hosts[n.Name]
	r, err := host.Repository(ctx, p.HostPath())
	if errors.Is(err, githost.ErrNotFound) {
		err = fmt.Errorf("%w: correct repo in %s, or let the token see it: %s", err, v.Settings.Projects, n.tokenPage(n))
	}
	if err != nil {
		d.Bad(p.Prefix, "%w", err)
		return
	}
	page := cmp.Or(p.WebURL, strings.TrimSuffix(r.CloneURL, ".git"))
	var app string
	var lacks []string
	if x, ok := host.(interface {
		Rights(ctx context.Context, repo string) (app string, lacks []string, err error)
	}); ok {
		app, lacks, err = x.Rights(ctx, p.HostPath())
	}
	switch {
	case r.Archived:
		d.Bad(p.Prefix, "%s is archived, and takes no commit: unarchive it at %s/settings, or take it out of %s",
			p.Repo, page, v.Settings.Projects)
	case err != nil:
		d.Bad(p.Prefix, "%w", err)
	case len(lacks) > 0:
		d.Bad(p.Prefix, "the app %s lacks permissions for %s: %s: give them to it in its settings, "+
			"and accept them where it is installed", app, p.Repo, strings.Join(lacks, ", "))
	case app != "":
		d.OK(p.Prefix, "the app %s has the permissions that cards of %s need", app, p.Repo)
	case !r.Push:
		d.Bad(p.Prefix, "the token may read %s and not push to it: "+
			"give it write access to contents and pull requests at %s", p.Repo, n.tokenPage(n))
	default:
		d.OK(p.Prefix, "the token may push to %s", p.Repo)
	}
	rules, err := rulesOf(ctx, host, p)
	if err != nil {
		d.Bad(p.Prefix, "%w", err)
		return
	}
	d.merging(v, p, r, rules, page+"/settings")
	d.main(ctx, v, p, r, rules)
	d.hostHooks(ctx, v, p, page)
}

// rulesOf are the rules of main, as far as its host shows them.
func rulesOf(ctx context.Context, host GitHost, p task.Project) (githost.Rules, error) {
	if ruled, ok := host.(githost.Ruled); ok {
		return ruled.Rules(ctx, p.HostPath(), p.Main)
	}
	b, err := host.Protection(ctx, p.HostPath(), p.Main)
	if errors.Is(err, githost.ErrNotFound) { // said elsewhere
		return githost.Rules{}, nil
	}
	var out githost.Rules
	for _, name := range b.Contexts {
		out.Demands = append(out.Demands, githost.Demand{Context: name, By: "the protection of " + p.Main})
	}
	return out, err
}

// main examines the main branch: at its host, and by the address that git clones from.
func (d *doctor) main(ctx context.Context, v *Service, p task.Project, r githost.Repository, rules githost.Rules) {
	b, err := v.Hosts[p.HostName()].Protection(ctx, p.HostPath(), p.Main)
	if errors.Is(err, githost.ErrNotFound) {
		err = fmt.Errorf("%s has no branch %s: push a first commit to it, or name another in main (its default is %s)",
			p.Repo, p.Main, r.DefaultBranch)
	}
	if err != nil {
		d.Bad(p.Prefix, "%w", err)
		return
	}
	heads, err := v.Git.Heads(ctx, work.Workspace{Repo: p.Repo, CloneURL: p.CloneURL, Main: p.Main})
	at, _ := v.hostOf(p)
	switch {
	case err != nil:
		d.Bad(p.Prefix, "clone_url: git cannot read it: %w: %s says that it is %s", err, at.title, r.CloneURL)
	case heads[p.Main] != b.SHA:
		d.Bad(p.Prefix, "clone_url is another repository than %s: %s is at %.12s there "+
			"and at %.12s at %s, which says that it is %s", p.Repo, p.Main, heads[p.Main], b.SHA, at.title, r.CloneURL)
	default:
		d.OK(p.Prefix, "the repository %s answers, and %s is at %.12s", p.Repo, p.Main, b.SHA)
	}
	d.contexts(ctx, v, p, b.SHA, rules.Demands)
}

// merging compares how pull requests are to be merged with what the repository and the rules of
// main allow.
func (d *doctor) merging(v *Service, p task.Project, r githost.Repository, rules githost.Rules, page string) {
	n, _ := v.hostOf(p)
	allowed := r.Methods
	if rules.Methods != nil {
		allowed = slices.DeleteFunc(slices.Clone(allowed), func(m string) bool { return !slices.Contains(rules.Methods, m) })
	}
	switch {
	case rules.Queue != "":
		d.Bad(p.Prefix, "%s demands the merge queue, %s: "+
			"every merge would be refused; take the rule away at %s/rules, or let the token's account bypass it",
			rules.Queue, n.queue, page)
	case len(allowed) == 0:
		d.Bad(p.Prefix, "%s allows no method of merging: allow merge commits at %s", p.Repo, page)
	case p.Merge != githost.MergeAny && !slices.Contains(allowed, string(p.Merge)):
		d.Bad(p.Prefix, "merge is %s, and %s is merged by %s alone: every merge would be refused; "+
			"allow it at %s, or correct merge in %s", p.Merge, p.Repo, strings.Join(allowed, ", "), page, v.Settings.Projects)
	case p.Merge != githost.MergeAny:
		d.OK(p.Prefix, "pull requests may be merged by %s, which merge names", p.Merge)
	case !slices.Contains(allowed, string(githost.MergeCommit)):
		d.Warn(p.Prefix, "%s allows no merge commits: pull requests are merged by %s", p.Repo, allowed[0])
	default:
		d.OK(p.Prefix, "pull requests may be merged by %s", strings.Join(allowed, ", "))
	}
}

// contexts compares the checks that the registry waits for, and those that rules demand, with
// those that have reported on main, which is at a commit.
func (d *doctor) contexts(ctx context.Context, v *Service, p task.Project, sha string, demands []githost.Demand) {
	for _, k := range demands {
		switch {
		case p.CINone:
			d.Bad(p.Prefix, "%s demands the check %s, and ci is none: every merge would be refused; name it in ci",
				k.By, k.Context)
		case len(p.Contexts) > 0 && !slices.Contains(p.Contexts, k.Context):
			d.Warn(p.Prefix, "%s demands the check %s, which ci does not name: cards wait for it all the same", k.By, k.Context)
		}
	}
	if p.CINone || len(p.Contexts)+len(demands) == 0 {
		return
	}
	list, err := v.Hosts[p.HostName()].Checks(ctx, p.HostPath(), p.Main, sha)
	if err != nil {
		d.Bad(p.Prefix, "%w", err)
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
			d.Warn(p.Prefix, "%s demands the check %s, and nothing has reported one of that name on %s: cards wait for it, at most %s, "+
				"which is right when it runs on pull requests alone; else correct the rule%s",
				k.By, k.Context, p.Main, v.Settings.Engine.CIWait, near)
		}
	}
	for _, name := range p.Contexts {
		near := nearest(name, known)
		switch {
		case slices.Contains(known, name):
			d.OK(p.Prefix, "ci: %s is a check of %s", name, p.Main)
		case near != "":
			d.Bad(p.Prefix, "ci: no check of %s is called %s%s Correct it in %s", p.Main, name, near, v.Settings.Projects)
		case len(known) == 0:
			d.Warn(p.Prefix, "ci: no check has reported on %s yet, so nobody can say whether %s is one", p.Main, name)
		default:
			d.Warn(p.Prefix, "ci: no check of %s is called %s (it has %s): cards wait for it, "+
				"which is right when it runs on pull requests alone", p.Main, name, strings.Join(known, ", "))
		}
	}
}

// hostHooks examines what a git host sends, and registers it with Fix.
func (d *doctor) hostHooks(ctx context.Context, v *Service, p task.Project, page string) {
	s := v.Settings
	n, _ := v.hostOf(p)
	if s.PublicURL == "" {
		d.Warn(p.Prefix, "webhooks: %sPUBLIC_URL is not set, so nobody can say whether those of %s arrive; "+
			"without them CI is looked at every %s", Prefix, n.title, s.Engine.Stage.CIPoll)
		return
	}
	target, page := s.publicURL()+n.path, page+"/settings/hooks"
	list, err := v.Hosts[n.Name].Webhooks(ctx, p.HostPath())
	if errors.Is(err, githost.ErrNotFound) || errors.Is(err, githost.ErrDenied) {
		d.Warn(p.Prefix, "webhooks: the token may not see them (it needs administration of %s): look whether one to %s is at %s",
			p.Repo, target, page)
		return
	}
	if err != nil {
		d.Bad(p.Prefix, "%w", err)
		return
	}
	at := slices.IndexFunc(list, func(h githost.Webhook) bool { return h.URL == target })
	if at < 0 {
		d.addHook(ctx, v, p, target, page)
		return
	}
	switch h := list[at]; {
	case !h.Active:
		d.Bad(p.Prefix, "webhooks: the one to %s is switched off: make it active at %s", target, page)
	case len(h.Lacks) > 0:
		d.Bad(p.Prefix, "webhooks: the one to %s lacks the events %s: add them at %s",
			target, strings.Join(h.Lacks, ", "), page)
	case h.Last == http.StatusUnauthorized || h.Last == http.StatusForbidden:
		d.Bad(p.Prefix, "webhooks: the last delivery to %s was answered %d: its secret is not %s; set the same one at %s",
			target, h.Last, n.secretName, page)
	case h.Last != 0 && h.Last/100 != 2:
		d.Bad(p.Prefix, "webhooks: the last delivery to %s was answered %d (%s): look whether the address leads here",
			target, h.Last, h.Note)
	case h.Last == 0:
		d.OK(p.Prefix, "webhooks: one to %s is there, and nothing was delivered yet", target)
	default:
		d.OK(p.Prefix, "webhooks: one to %s is there, and its last delivery was answered %d", target, h.Last)
	}
}

// addHook registers the webhook, or says that it is missing.
func (d *doctor) addHook(ctx context.Context, v *Service, p task.Project, target, page string) {
	if !d.Fix {
		d.Bad(p.Prefix, "webhooks: none is registered to %s: signalbox doctor --fix does it, or make one at %s", target, page)
		return
	}
	n, _ := v.hostOf(p)
	i := slices.IndexFunc(n.secrets, func(s signature.Secret) bool { return s.Repo == "" }) // the newest that speaks for all
	if i < 0 {
		d.Bad(p.Prefix, "webhooks: the project has a secret of its own: make one to %s with it at %s", target, page)
		return
	}
	made := v.Hosts[n.Name].AddWebhook(ctx, p.HostPath(), target, n.secrets[i].Value)
	d.Check(p.Prefix, "webhooks: one to "+target+" was registered", "", made)
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
			d.Check(p.Prefix, "the column "+s.Name+" was made", how, board.AddColumn(ctx, id, s.Status))
		}
	}
	if now, err := v.Tracker.Columns(ctx, p.Sync()); err == nil {
		return now
	}
	return columns
}
