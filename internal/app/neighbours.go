package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/mux"
)

// GitHost is a git host with an adapter of its own.
type GitHost interface {
	orchestrator.Hosting
	githost.Receiver
	githost.Examiner
	neighbour
	Issues() labelboard.Issues
}

// BoardHost is a tracker beside the first one.
type BoardHost interface {
	mux.Whole
	tracker.Receiver
	Identify(ctx context.Context) error
	SetSecrets(s signature.Secrets)
	columnMaker
}

// columnMaker makes the column of a status.
type columnMaker interface {
	AddColumn(ctx context.Context, projectID string, s stage.Status) error
}

type neighbour interface {
	// Ping reads the account of the token.
	Ping(ctx context.Context) error
	SetSecrets(s signature.Secrets)
}

// hostAccess is how a git host is reached.
type hostAccess struct {
	projectfile.Host
	token     string
	app       *github.App // signs in in the place of the token; nil: the token does
	tokenName string      // of the variable that holds it
	secret    string      // of webhooks, of projects that have none of their own; empty = none
}

// title returns the name of the host for people.
func (a hostAccess) title() string {
	if a.Name == task.HostGitHub {
		return "GitHub"
	}
	return a.Name
}

// tokenPage is where a person makes a token.
func (a hostAccess) tokenPage() string {
	switch {
	case a.Kind == projectfile.KindGitea:
		return a.URL + "/user/settings/applications"
	case a.URL == "":
		return "https://github.com/settings/personal-access-tokens"
	default:
		return a.URL + " (Settings, Developer settings)"
	}
}

// secretName is the variable that holds the secret of webhooks.
func (a hostAccess) secretName() string {
	if len(a.SecretEnv) > 0 {
		return a.SecretEnv[0]
	}
	return Prefix + "GITHUB_WEBHOOK_SECRET"
}

// hooksPath is where the webhooks of a host come in.
func (a hostAccess) hooksPath() string {
	if a.Name == task.HostGitHub {
		return hostHooks
	}
	return "/webhooks/" + a.Name
}

// mend tells people what to do when a neighbour refuses the service; see service.Options.
func (v *Service) mend(of string, p task.Project) string {
	a, hosted := v.access[p.HostName()]
	switch {
	case of == "host":
		return fmt.Sprintf("Make a token that may write contents and pull requests there and set it as %s (%s), or correct repo in %s",
			a.tokenName, a.tokenPage(), v.Settings.Projects)
	case of == "webhooks" && p.Host != trackerPlane && hosted:
		return fmt.Sprintf("Set the secret of the webhook at %s to that of %s, or correct that one and run signalbox reload",
			a.title(), a.secretName())
	case of == "webhooks" && p.Host == trackerPlane:
		return fmt.Sprintf("Set %sPLANE_WEBHOOK_SECRET to the secret that Plane shows for the webhook, and run signalbox reload", Prefix)
	case of == "webhooks":
		return "Set the secret of the webhook at " + p.Host + " to that of its entry in " + v.Settings.Projects
	case p.Board == "" && v.Plane != nil:
		return fmt.Sprintf("Make a token in Plane's profile settings (API tokens, at %s) and set it as %sPLANE_TOKEN, "+
			"or make its account a member of the project at %s",
			v.Settings.PlaneURL, Prefix, v.Settings.projectMembersPage(p.TrackerProject))
	default:
		return "Make a token for the board of " + p.Prefix + " and set it as its entry in " + v.Settings.Projects + " says"
	}
}

// hostAccesses are those of the settings and of the registry, by name.
func (s Settings) hostAccesses(n projectfile.Neighbours, secrets HookSecrets, getenv func(string) string) (map[string]hostAccess, error) {
	out, errs := map[string]hostAccess{}, []error{}
	if s.signsInToGitHub() {
		builtin := projectfile.Host{Name: task.HostGitHub, Kind: projectfile.KindGitHub, URL: s.GitHubURL, CloneBase: s.CloneBase}
		out[task.HostGitHub] = hostAccess{
			builtin, s.GitHubToken.Reveal(), s.githubApp(), Prefix + "GITHUB_TOKEN", secrets.common(task.HostGitHub),
		}
	}
	for _, h := range n.Hosts {
		token, err := s.namedSecret(getenv, h.TokenEnv, "host "+h.Name)
		out[h.Name], errs = hostAccess{h, token, nil, h.TokenEnv, secrets.common(h.Name)}, append(errs, err)
	}
	return out, errors.Join(errs...)
}

// openHosts opens the git hosts.
func (v *Service) openHosts(list map[string]hostAccess, secrets HookSecrets) error {
	v.Hosts = map[string]GitHost{}
	for _, a := range list {
		h, err := v.Settings.openHost(a, secrets[a.Name])
		if err != nil {
			return fmt.Errorf("the host %s: %w", a.Name, err)
		}
		v.Hosts[a.Name] = h
	}
	return nil
}

// openHost opens a git host.
func (s Settings) openHost(a hostAccess, secrets signature.Secrets) (GitHost, error) {
	switch a.Kind {
	case projectfile.KindGitHub:
		return github.New(github.Options{
			BaseURL: a.URL, Token: a.token, App: a.app, Secrets: secrets,
			Insecure: s.InsecureWebhooks, HTTPClient: s.client(),
		})
	case projectfile.KindGitea:
		return gitea.New(gitea.Options{
			BaseURL: a.URL, Token: a.token, Secrets: secrets,
			Insecure: s.InsecureWebhooks, HTTPClient: s.client(),
		})
	default:
		return nil, fmt.Errorf("there is no adapter for %s", a.Kind)
	}
}

// issuesOf are the issues of a board's host: of the client that is open, or of one that signs in with the
// board's own token, which GitHub has even where the service does not use it as a host.
func (v *Service) issuesOf(b projectfile.Board, token string) (out labelboard.Issues, err error) {
	h := v.Hosts[b.Host]
	if b.TokenEnv != "" {
		a := v.access[b.Host]
		a.Kind, a.token, a.app = cmp.Or(a.Kind, projectfile.KindGitHub), token, nil
		if h, err = v.Settings.openHost(a, nil); err != nil {
			return out, err
		}
	}
	if h != nil {
		out = h.Issues()
	}
	return out, nil
}

// columns returns what makes columns on the board of a project; nil: nothing has to.
func (v *Service) columns(p task.Project) columnMaker {
	if b := v.Boards[p.Board]; b != nil {
		return b
	}
	if v.Plane != nil && p.Board == "" {
		return v.Plane
	}
	return nil
}

// openBoards opens the trackers that the registry has beside the first. The hosts are open.
func (v *Service) openBoards(n projectfile.Neighbours, secrets HookSecrets, getenv func(string) string) error {
	s := v.Settings
	v.Boards = map[string]BoardHost{}
	for _, b := range n.Boards {
		token, err := "", error(nil)
		if b.TokenEnv != "" { // labels: without it, the host's
			token, err = s.namedSecret(getenv, b.TokenEnv, "board "+b.Name)
		}
		if err != nil {
			return err
		}
		s.hidden.Hide(token)
		switch b.Kind {
		case projectfile.KindPlane:
			v.Boards[b.Name], err = plane.New(plane.Options{
				BaseURL: b.URL, Workspace: b.Workspace, Token: token, Secrets: secrets[b.Name],
				Insecure: s.InsecureWebhooks, HTTPClient: s.client(), Log: v.Log,
			})
		case projectfile.KindLabels:
			var issues labelboard.Issues
			if issues, err = v.issuesOf(b, token); err == nil {
				v.Boards[b.Name], err = labelboard.New(labelboard.Options{
					Issues: issues, Secrets: secrets[b.Name], Insecure: s.InsecureWebhooks, Log: v.Log,
				})
			}
		default:
			err = fmt.Errorf("there is no adapter for %s", b.Kind)
		}
		if err != nil {
			return fmt.Errorf("the board %s: %w", b.Name, err)
		}
	}
	return nil
}

// several is the first tracker, or all of them where there are more.
func (v *Service) several(first Tracker) Tracker {
	if len(v.Boards) == 0 {
		return first
	}
	named := map[string]mux.Whole{}
	for name, b := range v.Boards {
		named[name] = b
	}
	return mux.New(first, named)
}

// sources are the senders of webhooks: the first tracker and GitHub before the others.
func (v *Service) sources() (out []web.Source) {
	if v.Plane != nil {
		out = append(out, web.Source{Name: trackerPlane, Tracker: v.Plane})
	}
	for _, name := range slices.Sorted(maps.Keys(v.Boards)) {
		out = append(out, web.Source{Name: name, Tracker: mux.Receiver(name, v.Boards[name])})
	}
	names := slices.SortedFunc(maps.Keys(v.Hosts), func(a, b string) int {
		if a == task.HostGitHub || b == task.HostGitHub {
			return map[bool]int{true: -1, false: 1}[a == task.HostGitHub]
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		out = append(out, web.Source{Name: name, Host: v.Hosts[name]})
	}
	return out
}

// setSecrets has webhooks that come from now on be verified by other secrets.
func (v *Service) setSecrets(secrets HookSecrets) {
	if v.Plane != nil {
		v.Plane.SetSecrets(secrets[trackerPlane])
	}
	for name, b := range v.Boards {
		b.SetSecrets(secrets[name])
	}
	for name, h := range v.Hosts {
		h.SetSecrets(secrets[name])
	}
}

// places are the destinations beside the first ones, for lanes of their own.
func (v *Service) places() (out orchestrator.Places) {
	for _, h := range v.neighbours.Hosts {
		out.Hosts = append(out.Hosts, h.Name)
	}
	for _, b := range v.neighbours.Boards {
		out.Boards = append(out.Boards, b.Name)
	}
	return out
}

// Values of ORCH_TRACKER, which are the names in delivery records too.
const (
	trackerPlane = "plane"
	trackerBoard = "board" // the service's own
)

// Tracker is where cards are, with all that the features ask of it.
type Tracker interface {
	orchestrator.Tracking
	tracker.Board
	tracker.Log
	about
}

type about interface {
	tracker.People
	tracker.Linker
	tracker.Editor
	tracker.Relations
}

// openTracker opens the tracker that the settings name. The database is open.
func (v *Service) openTracker(ctx context.Context, n projectfile.Neighbours, secrets HookSecrets) (err error) {
	s := v.Settings
	if err := v.openBoards(n, secrets, os.Getenv); err != nil {
		return err
	}
	if !s.usesFirst(v.Projects) {
		v.Tracker = v.several(nil)
		return nil
	}
	if s.Tracker == trackerBoard {
		o := board.Options{Path: s.file(), Page: s.publicURL() + "/dashboard/board/cards"}
		if s.Shared() {
			o.URL, o.Schema = s.DatabaseURL.Reveal(), s.DatabaseSchema
		}
		if v.Board, err = board.Open(ctx, o); err != nil {
			return err
		}
		v.Tracker = v.several(v.Board)
		return nil
	}
	v.Plane, err = plane.New(plane.Options{
		BaseURL: s.PlaneURL, Workspace: s.PlaneWorkspace,
		Token: s.PlaneToken.Reveal(), RoleTokens: s.roleTokens(), Secrets: secrets[trackerPlane],
		Insecure: s.InsecureWebhooks, States: s.states(), HTTPClient: s.client(), Log: v.Log,
	})
	if err != nil {
		return err
	}
	v.Tracker = v.several(v.Plane)
	return nil
}

// usesFirst reports whether cards of a registry are where the settings say.
func (s Settings) usesFirst(p *task.Projects) bool {
	return s.rehearses || slices.ContainsFunc(p.All(), onBoard(""))
}

// identifiers read which accounts of each tracker are the service's own. Those of our own
// board are known by their names.
func (v *Service) identifiers() map[string]func(context.Context) error {
	out := map[string]func(context.Context) error{}
	if v.Plane != nil {
		out[""] = v.Plane.Identify
	}
	for name, b := range v.Boards {
		out[name] = b.Identify
	}
	return out
}

// publicURL is the address of this server for links, without a slash at its end.
func (s Settings) publicURL() string {
	return strings.TrimSuffix(cmp.Or(s.PublicURL, "http://"+s.Listen), "/")
}

// pages is the address of the dashboard for links on other boards; empty: it is not known from there.
func (s Settings) pages() string {
	if s.PublicURL == "" {
		return ""
	}
	return s.publicURL() + "/dashboard"
}

// checkTracker says what is wrong with the settings of the tracker.
func (s Settings) checkTracker() error {
	if s.Tracker != trackerPlane && s.Tracker != trackerBoard {
		return fmt.Errorf("is %q, want %s, or %s for a board of the service's own", s.Tracker, trackerPlane, trackerBoard)
	}
	return nil
}

// tracker examines the tracker, and reports whether it can be worked with.
func (d *doctor) tracker(ctx context.Context, v *Service) (accepted bool) {
	if v.Board != nil {
		return d.check("board", "our own, at "+v.Settings.publicURL()+"/dashboard/board", v.Board.Ping(ctx))
	}
	return d.plane(ctx, v)
}

// closeTracker closes what openTracker has opened.
func (v *Service) closeTracker() error {
	if v.Board == nil {
		return nil
	}
	return v.Board.Close()
}
