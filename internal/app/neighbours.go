package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/mux"
)

// hooked is a git host as a sender of webhooks, whose secrets a reload may change.
type hooked interface {
	githost.Receiver
	SetSecrets(s signature.Secrets)
}

// GitHost is a git host with an adapter of its own.
type GitHost interface {
	orchestrator.Hosting
	hooked
	githost.Examiner
	// Ping reads the account of the token.
	Ping(ctx context.Context) error
	Issues() labelboard.Issues
}

// BoardHost is a tracker of another program.
type BoardHost interface {
	mux.Whole
	tracker.Receiver
	Identify(ctx context.Context) error
	SetSecrets(s signature.Secrets)
	// AddColumn makes the column of a status.
	AddColumn(ctx context.Context, projectID string, s stage.Status) error
}

// Chat is where notices go.
type Chat interface {
	messenger.Messenger // and messenger.Listener and Receiver, where people can act in it
	// Moved reports, as an error, that the chat has another address now, and what to set.
	Moved(ctx context.Context) error
	// Examine reports what a person has to mend; levels are those of findings, as text.
	Examine(ctx context.Context, report func(level, what, text string))
}

// openChat opens the chat that the settings have, if any. A rehearsal tells nobody.
func (v *Service) openChat() error {
	is := ""
	for _, name := range v.Settings.kindsWith(func(k kind) bool { return k.chat != nil && !v.Settings.rehearses }) {
		switch chat, err := v.Settings.kinds()[projectfile.Kind(name)].chat(v); {
		case err != nil:
			return err
		case chat == nil:
		case v.Chat != nil:
			return fmt.Errorf("both %s and %s are set up, and a service has one chat: unset the settings of one", is, name)
		default:
			v.Chat, is = chat, name
		}
	}
	return nil
}

// mend tells people what to do when a neighbour refuses the service; see service.Options.
func (v *Service) mend(of string, p task.Project) string {
	n, known := v.neighbour(func(n neighbour) bool {
		return of == "webhooks" && n.source() == p.Host || of != "webhooks" && n.isBoard == (of == "board") && n.serves(p)
	})
	switch {
	case of == "host":
		return fmt.Sprintf("Make a token that may write contents and pull requests there and set it as %s (%s), or correct repo in %s",
			n.TokenEnv, n.tokenPage(n), v.Settings.Projects)
	case of == "webhooks" && known && n.isBoard && n.own:
		return fmt.Sprintf("Set %s to the secret that %s shows for the webhook, and run signalbox reload", n.secretName, n.title)
	case of == "webhooks" && known && !n.isBoard:
		return fmt.Sprintf("Set the secret of the webhook at %s to that of %s, or correct that one and run signalbox reload",
			n.title, n.secretName)
	case of == "webhooks":
		return "Set the secret of the webhook at " + p.Host + " to that of its entry in " + v.Settings.Projects
	}
	if m, ok := v.Boards[n.Name].(mender); ok && known {
		return m.Mend(n.TokenEnv, mux.ID(n.Name, p.TrackerProject))
	}
	return "Make a token for the board of " + p.Prefix + " and set it as its entry in " + v.Settings.Projects + " says"
}

// Clicks lists what only a person can do.
func (s Settings) Clicks() (list []string) {
	for _, n := range s.neighbours(projectfile.Neighbours{}) {
		switch {
		case !n.isBoard:
		case s.PublicURL == "":
			list = append(list, fmt.Sprintf("For webhooks of %s the server needs an address that it reaches: "+
				"run it again with --public-url; until then boards are read every %s", n.title, s.Features.Reconciler.Every))
		default:
			list = append(list, fmt.Sprintf("In %s make a webhook"+n.hook(n)+", in place of the one that was generated in %s",
				n.title, s.publicURL()+n.path, EnvFile))
		}
	}
	return list
}

// mender is a board that says what people do when it refuses the token of a setting at a project.
type mender interface {
	Mend(setting, projectID string) string
}

// sources are the senders of webhooks: boards before hosts, and those of the settings before the others.
func (v *Service) sources() (out []web.Source) {
	for _, n := range v.near {
		if n.isBoard {
			out = append(out, web.Source{Name: n.source(), Tracker: mux.Receiver(n.Name, v.Boards[n.Name])})
		}
	}
	for _, n := range v.near {
		if !n.isBoard {
			out = append(out, web.Source{Name: n.Name, Host: v.Hosts[n.Name]})
		}
	}
	listener, listens := v.Chat.(messenger.Listener)
	if r, ok := v.Chat.(messenger.Receiver); ok && listens && r.Habits() != (signature.Habits{}) {
		out = append(out, web.Source{Name: listener.Accounts(), Chat: r})
	}
	return out
}

// setSecrets has webhooks that come from now on be verified by other secrets.
func (v *Service) setSecrets(secrets HookSecrets) {
	for _, n := range v.near {
		if n.isBoard {
			v.Boards[n.Name].SetSecrets(secrets[n.source()])
		} else {
			v.Hosts[n.Name].SetSecrets(secrets[n.source()])
		}
	}
}

// places are the destinations of the registry, for lanes of their own.
func (v *Service) places() (out orchestrator.Places) {
	for _, h := range v.opened.Neighbours.Hosts {
		out.Hosts = append(out.Hosts, h.Name)
	}
	for _, b := range v.opened.Neighbours.Boards {
		out.Boards = append(out.Boards, b.Name)
	}
	return out
}

// trackerBoard is the value of ORCH_TRACKER for the service's own board. Others are kinds of boards that the settings
// describe. All of them are names in delivery records too.
const trackerBoard = "board"

// Tracker is where cards are, with all that the features do with it.
type Tracker interface {
	orchestrator.Tracking
	mux.Whole
}

// serves reports whether a project is at a neighbour.
func (n neighbour) serves(p task.Project) bool {
	if n.isBoard {
		return p.Board == n.Name
	}
	return p.HostName() == n.Name
}

// isUsed reports whether a neighbour is to be opened: an own one that no project has, or that nothing signs in to, is not.
func (n neighbour) isUsed(p *task.Projects) bool {
	if n.isBoard {
		return !n.own || slices.ContainsFunc(p.All(), n.serves)
	}
	return !n.own || n.token != "" || n.app
}

// openNeighbours opens the git hosts, and the boards of other programs.
func (v *Service) openNeighbours(list []neighbour, secrets HookSecrets, getenv func(string) string) error {
	v.Hosts, v.Boards = map[string]GitHost{}, map[string]BoardHost{}
	var errs []error
	for _, n := range list {
		if !n.isUsed(v.Projects) {
			continue
		}
		err := error(nil)
		if !strings.HasPrefix(n.TokenEnv, Prefix) {
			n.token, err = v.Settings.namedSecret(getenv, n.TokenEnv, n.what())
		}
		if n.secrets = secrets[n.source()]; err != nil {
			errs = append(errs, err)
			continue
		}
		v.Settings.hidden.Hide(n.token)
		switch {
		case n.isBoard && n.board == nil || !n.isBoard && n.host == nil:
			err = fmt.Errorf("nothing of the kind %q can be one", n.Kind)
		case n.isBoard:
			v.Boards[n.Name], err = n.board(v, n)
		default:
			v.Hosts[n.Name], err = n.host(v, n)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("the %s: %w", n.what(), err))
		}
		v.near = append(v.near, n)
	}
	return errors.Join(errs...)
}

// hostOf is the git host of a project; ok is false where it is not open.
func (v *Service) hostOf(p task.Project) (n neighbour, ok bool) {
	return v.neighbour(func(n neighbour) bool { return !n.isBoard && n.serves(p) })
}

func (v *Service) neighbour(is func(neighbour) bool) (n neighbour, ok bool) {
	if i := slices.IndexFunc(v.near, is); i >= 0 {
		return v.near[i], true
	}
	return n, false
}

// openTracker makes one tracker of all boards. The database is open.
func (v *Service) openTracker(ctx context.Context) (err error) {
	s, all := v.Settings, map[string]mux.Whole{}
	if s.Tracker == trackerBoard && (s.rehearses || slices.ContainsFunc(v.Projects.All(), neighbour{isBoard: true}.serves)) {
		o := board.Options{Path: s.file(), Page: s.publicURL() + "/dashboard/board/cards"}
		if s.Shared() {
			o.URL, o.Schema = s.DatabaseURL.Reveal(), s.DatabaseSchema
		}
		if v.Board, err = board.Open(ctx, o); err != nil {
			return err
		}
		all[""] = v.Board
	}
	for name, b := range v.Boards {
		all[name] = b
	}
	v.Tracker = mux.New(all)
	return nil
}

// identifiers read which accounts of each tracker are the service's own. Those of our own board are known by their names.
func (v *Service) identifiers() map[string]func(context.Context) error {
	out := map[string]func(context.Context) error{}
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
