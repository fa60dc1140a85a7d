package github

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// actions is the app that runs the workflows of repositories, and actionsID its number.
const (
	actions   = "github-actions"
	actionsID = 15368
)

// appOf is an app by the port's name.
func appOf(slug string) string {
	if slug == actions {
		return githost.AppActions
	}
	return slug
}

// Checks implements githost.Host: the newest status of every context, the newest run of
// every check, and what is expected beside them.
func (c *Client) Checks(ctx context.Context, repo, base, sha string) ([]githost.Check, error) {
	owner, name, err := splitAt(repo, sha)
	if err != nil {
		return nil, err
	}
	runs, err := c.reported(ctx, owner, name, sha)
	if err != nil {
		return nil, unknownCommit(err)
	}
	rules, err := c.knownRules(ctx, repo, base)
	if err != nil {
		return nil, err
	}
	begun, err := c.suites(ctx, owner, name, sha, runs, rules.Demands)
	if err != nil {
		return nil, c.convert(ctx, "the check suites of "+repo, err)
	}
	for i, k := range runs {
		demanded := slices.ContainsFunc(rules.Demands, func(d githost.Demand) bool { return d.Context == k.Name })
		k.Optional = len(rules.Demands) > 0 && !demanded
		for _, d := range rules.Demands {
			if d.Context == k.Name && !k.isOf(d.App) {
				k.Foreign = fmt.Sprintf("%s demands it of the app %d", d.By, d.App)
			}
		}
		runs[i] = k
	}
	list := checksOf(runs)
	githost.NoteForeign(list, rules.base, base)
	list = append(list, begun...)
	for _, d := range rules.Demands {
		if !slices.ContainsFunc(list, func(k githost.Check) bool { return k.Name == d.Context && k.Foreign == "" }) {
			list = append(list, githost.Check{Name: d.Context, State: githost.CheckExpected, Kind: "required", Note: "demanded by " + d.By})
		}
	}
	return list, nil
}

// reported lists the statuses and the check runs of a commit.
func (c *Client) reported(ctx context.Context, owner, name, sha string) ([]checkRun, error) {
	list, err := c.statuses(ctx, owner, name, sha)
	if err != nil {
		return nil, c.convert(ctx, "the statuses of "+owner+"/"+name, err)
	}
	runs, err := c.checkRuns(ctx, owner, name, sha)
	if err != nil {
		return nil, c.convert(ctx, "the checks of "+owner+"/"+name, err)
	}
	return append(list, runs...), nil
}

// statuses reads all pages, the newest status first: that of each account counts for each context, so that nobody
// replaces what another has said.
func (c *Client) statuses(ctx context.Context, owner, name, sha string) (out []checkRun, err error) {
	opt := gh.ListOptions{PerPage: 100}
	for {
		list, resp, err := c.api.Repositories.ListStatuses(ctx, owner, name, sha, &opt)
		if err != nil {
			return nil, err
		}
		if list == nil {
			return nil, unreadable("the statuses of " + owner + "/" + name)
		}
		for _, s := range list {
			k := githost.Check{
				Name: s.GetContext(), State: stateOf(s.GetState()), Kind: "status", URL: s.GetTargetURL(), Note: s.GetDescription(),
			}
			k.Issuer, k.At = issuer(stage.IssuerUser, s.GetCreator().GetLogin()), s.GetUpdatedAt().Time
			k.SHA = githost.StatusCommit(s.GetURL())
			same := func(o checkRun) bool { return o.Name == k.Name && o.Issuer == k.Issuer }
			if !slices.ContainsFunc(out, same) {
				out = append(out, checkRun{Check: k})
			}
		}
		if more, err := next(&opt.Page, resp); err != nil || !more {
			return out, err
		}
	}
}

// issuer names who has reported a check; empty when GitHub does not.
func issuer(kind, name string) string {
	if name == "" {
		return ""
	}
	return kind + name
}

// checkRun is a status, or a check run with the suite that it belongs to and the number of its app.
type checkRun struct {
	githost.Check
	suite, app int64
}

func checksOf(runs []checkRun) (out []githost.Check) {
	for _, r := range runs {
		out = append(out, r.Check)
	}
	return out
}

// isOf reports whether an app that a rule demands has reported it, 0 for any. A status names an account alone: that of
// an app ends so, and that of the workflows is known.
func (r checkRun) isOf(app int64) bool {
	if app == actionsID && r.app == 0 {
		return r.Issuer == stage.IssuerUser+actions+"[bot]"
	}
	return app == 0 || r.app == app || r.app == 0 && strings.HasSuffix(r.Issuer, "[bot]")
}

// checkRuns reads all pages. GitHub gives the newest run of each name in each
// suite. Runs of one name in two suites are jobs of two workflows, and a failed
// one must not hide behind the other: all are kept.
func (c *Client) checkRuns(ctx context.Context, owner, name, sha string) (out []checkRun, err error) {
	opt := gh.ListCheckRunsOptions{Filter: gh.String("latest"), ListOptions: gh.ListOptions{PerPage: 100}}
	for {
		list, resp, err := c.api.Checks.ListCheckRunsForRef(ctx, owner, name, sha, &opt)
		if err != nil {
			return nil, err
		}
		if list.CheckRuns == nil {
			return nil, unreadable("the checks of " + owner + "/" + name)
		}
		for _, r := range list.CheckRuns {
			state := conclusion(r.GetStatus(), r.GetConclusion())
			out = append(out, checkRun{githost.Check{
				Name: r.GetName(), State: state, Kind: "check_run", App: appOf(r.GetApp().GetSlug()), ID: strconv.FormatInt(r.GetID(), 10),
				URL: r.GetHTMLURL(), Note: note(state, r.GetConclusion(), r.GetOutput().GetTitle()),
				Provenance: stage.Provenance{
					Issuer: issuer(stage.IssuerApp, r.GetApp().GetSlug()), SHA: r.GetHeadSHA(), At: r.GetCompletedAt().Time,
				},
			}, r.GetCheckSuite().GetID(), r.GetApp().GetID()})
		}
		if more, err := next(&opt.Page, resp); err != nil || !more {
			return out, err
		}
	}
}

// Rerun implements githost.Rerunner. A job of the workflows has the number of its check run; what another app reports is
// requested of that app, which GitHub lets the app itself do alone.
func (c *Client) Rerun(ctx context.Context, repo string, k githost.Check) error {
	owner, name, err := split(c.names.Now(repo))
	id, unnamed := strconv.ParseInt(k.ID, 10, 64)
	switch {
	case err != nil:
		return err
	case unnamed != nil:
		return githost.ErrLacking
	case k.Kind == "check_suite":
		_, err = c.api.Checks.ReRequestCheckSuite(ctx, owner, name, id)
	case k.App == githost.AppActions:
		_, err = c.api.Actions.RerunJobByID(ctx, owner, name, id)
	default:
		_, err = c.api.Checks.ReRequestCheckRun(ctx, owner, name, id)
	}
	return c.convert(ctx, "running "+k.Name+" of "+repo+" again", err)
}

// suites reads what has begun and shows in no run: suites that have not ended, and those of
// workflows that have ended without a job, such as by a mistake in their file. GitHub makes
// a suite of every commit for every app that is installed, and those of apps which test
// nothing stay queued for ever: one without runs counts only when it is of the workflows, or
// of an app that a rule names.
func (c *Client) suites(
	ctx context.Context, owner, name, sha string, runs []checkRun, demands []githost.Demand,
) (out []githost.Check, err error) {
	opt := gh.ListCheckSuiteOptions{ListOptions: gh.ListOptions{PerPage: 100}}
	for {
		list, resp, err := c.api.Checks.ListCheckSuitesForRef(ctx, owner, name, sha, &opt)
		if unseen(c.convert(ctx, "", err)) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if list.CheckSuites == nil {
			return nil, unreadable("the check suites of " + owner + "/" + name)
		}
		for _, s := range list.CheckSuites {
			if k, ok := begun(s, runs, demands); ok && !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
		if more, err := next(&opt.Page, resp); err != nil || !more {
			return out, err
		}
	}
}

// begun returns what a suite says beside its runs; ok is false when that is nothing.
func begun(s *gh.CheckSuite, runs []checkRun, demands []githost.Demand) (k githost.Check, ok bool) {
	app, has, open := s.GetApp(), 0, 0
	for _, r := range runs {
		if r.suite == s.GetID() {
			has++
		}
		if r.suite == s.GetID() && r.State == githost.CheckPending {
			open++
		}
	}
	named := slices.ContainsFunc(demands, func(d githost.Demand) bool { return d.App != 0 && d.App == app.GetID() })
	state := conclusion(s.GetStatus(), s.GetConclusion())
	k = githost.Check{Name: cmp.Or(app.GetName(), app.GetSlug()), Kind: "check_suite", App: appOf(app.GetSlug()), State: state}
	switch {
	case state != githost.CheckPending:
		if state == githost.CheckCancelled {
			k.ID = strconv.FormatInt(s.GetID(), 10)
		}
		k.Note = fmt.Sprintf("a workflow has ended without a job: %s", s.GetConclusion())
		return k, has == 0 && app.GetSlug() == actions
	case open > 0:
		return k, false
	}
	k.State, k.Note = githost.CheckExpected, "its check suite is "+s.GetStatus()
	return k, has > 0 || named || app.GetSlug() == actions
}
