package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

// Accounts are those of other services that cards and code are kept at.
type Accounts struct {
	Plane          bool   `help:"Cards are on a board of Plane; without it on one of the service's own."`
	PlaneURL       string `help:"Address of Plane." placeholder:"URL"`
	PlaneWorkspace string `help:"Slug of Plane's workspace, as in its addresses." placeholder:"SLUG"`
	PlaneProject   string `help:"Plane's project: its identifier, name or id." placeholder:"NAME"`
	GitHub         bool   `name:"github" help:"The repository is on GitHub; without it there is no git host."`
	Gitea          string `help:"The repository is on the Gitea or Forgejo at this address." placeholder:"URL"`
	Labels         bool   `help:"Cards are the repository's issues, and labels the columns; with --github or --gitea."`
	GitHubURL      string `name:"github-url" help:"Address of GitHub's REST API, where it is not github.com's." placeholder:"URL"`
}

// accounts gathers what is needed to reach other services.
func (s *setup) accounts(ctx context.Context) error {
	if valueOf("ORCH_TRACKER") == "" && valueOf("ORCH_PLANE_URL") != "" {
		s.Plane = true // which is the default there
	}
	var err1, err2, err3, err4 error
	if s.Plane {
		s.take("--plane", "ORCH_TRACKER", "plane", "cards are on a board of Plane")
		s.PlaneURL, err1 = s.setting(ctx, "ORCH_PLANE_URL", "--plane-url", s.PlaneURL,
			"Address of Plane, such as https://plane.example.org")
		s.PlaneWorkspace, err2 = s.setting(ctx, "ORCH_PLANE_WORKSPACE", "--plane-workspace", s.PlaneWorkspace,
			"Slug of the workspace, as in Plane's addresses")
		s.planeToken, err3 = s.token(ctx, "PLANE_TOKEN",
			"Token of Plane (profile settings, API tokens, at "+cmp.Or(s.PlaneURL, "Plane")+")")
	}
	if s.GitHub {
		s.take("--github-url", "ORCH_GITHUB_URL", s.GitHubURL, "GitHub's REST API")
		s.GitHubURL = cmp.Or(valueOf("ORCH_GITHUB_URL"), s.GitHubURL)
		s.githubToken, err4 = s.token(ctx, "GITHUB_TOKEN", "Token of GitHub that may write contents and pull requests ("+s.tokenPage()+")")
	}
	return errors.Join(err1, err2, err3, err4, s.hostAccounts(ctx))
}

// setting is one that is set, or is asked for and noted.
func (s *setup) setting(ctx context.Context, name, flag, given, question string) (string, error) {
	if s.env.has(name) {
		s.take(flag, name, given, question)
		return valueOf(name), nil
	}
	value, err := s.ask(ctx, flag, given, question, "")
	s.env.add(name, value, question)
	return value, err
}

// token is a secret of somebody else's. It has no flag: others see the arguments of a
// process.
func (s *setup) token(ctx context.Context, name, question string) (secret.String, error) {
	value, err := app.FindSecret(app.Environ(), name)
	if err != nil || value.IsSet() {
		s.env.add(app.Prefix+name, "", question)
		return value, err
	}
	typed, err := s.unseen(ctx, app.Prefix+name, question)
	return secret.New(typed), err
}

// tokenPage is where a person makes a token for GitHub.
func (s *setup) tokenPage() string {
	if s.GitHubURL == "" {
		return "https://github.com/settings/personal-access-tokens"
	}
	return s.GitHubURL + ", Settings, Developer settings"
}

// onPlane finds the project of the board.
func (s *setup) onPlane(ctx context.Context, e *entry) error {
	c, err := plane.New(plane.Options{
		BaseURL: s.PlaneURL, Workspace: s.PlaneWorkspace, Token: s.planeToken.Reveal(), Insecure: true, // no webhook comes here
	})
	if err != nil {
		return err
	}
	if err := c.Identify(ctx); err != nil {
		return fmt.Errorf("ORCH_PLANE_TOKEN is refused, or ORCH_PLANE_URL is no Plane: %w; "+
			"tokens are made in the profile settings (API tokens) at %s", err, s.PlaneURL)
	}
	list, err := c.Projects(ctx)
	if err != nil {
		return fmt.Errorf("--plane-workspace: the workspace %s cannot be read: %w; its slug stands in the addresses of its pages at %s",
			s.PlaneWorkspace, err, s.PlaneURL)
	}
	var names []string
	for _, p := range list {
		names = append(names, p.Identifier)
	}
	if len(list) == 0 {
		return fmt.Errorf("the token sees no project in the workspace %s: make one, or make its account a member of one, at %s",
			s.PlaneWorkspace, s.PlaneURL)
	}
	only := ""
	if len(list) == 1 {
		only = names[0]
	}
	wanted, err := s.ask(ctx, "--plane-project", s.PlaneProject, "Project of Plane: "+strings.Join(names, ", "), only)
	if err != nil || wanted == "" {
		return err
	}
	at := slices.IndexFunc(list, func(p plane.Project) bool {
		return p.ID == wanted || strings.EqualFold(p.Identifier, wanted) || strings.EqualFold(p.Name, wanted)
	})
	if at < 0 {
		return fmt.Errorf("--plane-project: the token sees no project %q, but %s", wanted, strings.Join(names, ", "))
	}
	e.Tracker, s.Prefix = list[at].ID, cmp.Or(s.Prefix, list[at].Identifier)
	return nil
}

// onHost describes the repository as its git host does.
func (s *setup) onHost(ctx context.Context, e *entry) error {
	e.Host = ""
	if e.Repo = s.Repo; e.Repo == "" && s.local.root != "" {
		if origin, err := git(ctx, s.local.root, "config", "--get", "remote.origin.url"); err == nil {
			e.Repo = nameOf(origin, s.local.root)
		}
	}
	c, at, err := s.openHost()
	if err != nil {
		return err
	}
	if e.Repo, err = s.ask(ctx, "--repo", e.Repo, "Repository on "+at.name+", as owner/name", ""); err != nil || e.Repo == "" {
		return err
	}
	err = c.Ping(ctx)
	switch {
	case errors.Is(err, githost.ErrDenied):
		return fmt.Errorf("%s is refused: %w; make one at %s", at.token, err, at.page)
	case err != nil:
		return fmt.Errorf("%s: %s does not answer: %w", at.flag, at.name, err)
	}
	r, err := c.Repository(ctx, e.Repo)
	if errors.Is(err, githost.ErrNotFound) {
		return fmt.Errorf("--repo: the token sees no repository %s: %w; correct the name, or give the token access to it at %s",
			e.Repo, err, at.page)
	}
	if err != nil {
		return err
	}
	if !r.Push {
		return fmt.Errorf("the token may read %s and not push to it: give it write access to contents and pull requests at %s",
			e.Repo, at.page)
	}
	e.Repo, e.Main, e.CloneURL = r.Name, cmp.Or(s.Main, r.DefaultBranch), cmp.Or(e.CloneURL, r.CloneURL)
	if u, err := url.Parse(e.CloneURL); s.GitHub && err == nil && u.Scheme == "https" && u.Host != "github.com" {
		s.env.add("ORCH_GITHUB_CLONE_BASE", "https://"+u.Host+"/", "git signs in there with the token")
	}
	return s.checks(ctx, c, e)
}

// checks names those that a commit waits for: what the protection of main demands, else what
// has reported on main.
func (s *setup) checks(ctx context.Context, c codeHost, e *entry) error {
	b, err := c.Protection(ctx, e.Repo, e.Main)
	if errors.Is(err, githost.ErrNotFound) {
		return fmt.Errorf("--main: %s has no branch %s: push a first commit to it, or name another", e.Repo, e.Main)
	}
	if err != nil {
		return err
	}
	names := b.Contexts
	e.CI = "any"
	if len(names) == 0 {
		list, err := c.Checks(ctx, e.Repo, e.Main, b.SHA)
		if err != nil {
			return err
		}
		for _, one := range list {
			if one.Kind != "check_suite" { // its name is an app's
				names = append(names, one.Name)
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
		files, unseen := git(ctx, cmp.Or(s.local.root, "."), "ls-tree", "-r", "--name-only", b.SHA) // where this is a clone of it
		if len(list) == 0 && unseen == nil && checks.FindCI(strings.Split(files, "\n")) == "" {
			e.CI = none
		}
	}
	if len(names) > 0 {
		e.CI = list(names)
	}
	s.say("%s: main is %s, checks: %s", e.Repo, e.Main, e.CI)
	switch {
	case e.CI == none:
		s.say("%s: nothing reports on %s, and no file there configures a CI: ci is none, so that no card waits for one; "+
			"name checks in ci of %s when there are some", e.Repo, e.Main, registry())
	case len(names) == 0:
		s.say("%s: nothing has reported on %s yet: cards wait for the first check that does; "+
			"set ci to none in %s if there will be none", e.Repo, e.Main, registry())
	}
	return nil
}

// Clicks lists what only a person can do.
func Clicks(settings app.Settings) []string {
	switch {
	case settings.Tracker != "plane":
		return nil
	case settings.PublicURL == "":
		return []string{fmt.Sprintf("For Plane's webhooks the server needs an address that Plane reaches: "+
			"run it again with --public-url; until then boards are read every %s", settings.Features.Reconciler.Every)}
	}
	return []string{fmt.Sprintf("In Plane (%s, settings of the workspace, Webhooks) make a webhook for work items to %s/webhooks/tracker, "+
		"and put the secret that Plane shows into %s as ORCH_PLANE_WEBHOOK_SECRET, in place of the generated one",
		settings.Plane.URL, strings.TrimSuffix(settings.PublicURL, "/"), app.EnvFile)}
}
