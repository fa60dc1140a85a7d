package app

import (
	"cmp"

	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// kind is a program that has repositories or boards.
type kind struct {
	host  func(v *Service, n neighbour) (GitHost, error)
	board func(v *Service, n neighbour) (BoardHost, error)

	tokenPage func(n neighbour) string // where a person makes a token
	// hook says what a webhook of a board is made for, and where: it ends the words "make one", as a format of the address.
	hook func(n neighbour) string
}

// kinds are the programs that the service works with. A further one has its entry here, and its name in
// package projectfile.
func kinds() map[projectfile.Kind]kind {
	return map[projectfile.Kind]kind{
		projectfile.KindGitHub: {
			tokenPage: func(n neighbour) string {
				if n.URL == "" {
					return "https://github.com/settings/personal-access-tokens"
				}
				return n.URL + " (Settings, Developer settings)"
			},
			host: func(v *Service, n neighbour) (GitHost, error) {
				o := github.Options{BaseURL: n.URL, Token: n.token}
				if n.own {
					o = v.Settings.GitHub.Options()
				}
				o.Secrets, o.Insecure, o.HTTPClient = n.secrets, v.Settings.InsecureWebhooks, v.Settings.client()
				return github.New(o)
			},
		},
		projectfile.KindGitea: {
			tokenPage: func(n neighbour) string { return n.URL + "/user/settings/applications" },
			host: func(v *Service, n neighbour) (GitHost, error) {
				return gitea.New(gitea.Options{
					BaseURL: n.URL, Token: n.token, Secrets: n.secrets,
					Insecure: v.Settings.InsecureWebhooks, HTTPClient: v.Settings.client(),
				})
			},
		},
		projectfile.KindPlane: {
			tokenPage: func(n neighbour) string { return "Plane's profile settings (API tokens, at " + n.URL + ")" },
			hook: func(n neighbour) string {
				return " for work items (issues) to %s in the workspace's settings at " + n.URL + ", and set its secret as " +
					n.secretName + " (Plane takes none to its own host or to loopback)"
			},
			board: func(v *Service, n neighbour) (BoardHost, error) {
				o := plane.Settings{URL: n.URL, Workspace: n.workspace, Token: secret.New(n.token)}.Options()
				if n.own {
					o = v.Settings.Plane.Options()
				}
				o.Secrets, o.Insecure, o.HTTPClient, o.Log = n.secrets, v.Settings.InsecureWebhooks, v.Settings.client(), v.Log
				return plane.New(o)
			},
		},
		projectfile.KindLabels: {
			tokenPage: func(n neighbour) string { return kinds()[n.hostKind].tokenPage(n) },
			hook:      func(neighbour) string { return " to %s" },
			board: func(v *Service, n neighbour) (BoardHost, error) {
				h, err := kinds()[n.hostKind].host(v, n)
				if err != nil {
					return nil, err
				}
				return labelboard.New(labelboard.Options{
					Issues: h.Issues(), Secrets: n.secrets, Insecure: v.Settings.InsecureWebhooks, Log: v.Log,
				})
			},
		},
	}
}

// neighbour is a git host or a board: one of the settings, or an entry of the registry.
type neighbour struct {
	projectfile.Host                  // of a board, too
	kind                              // of it
	own, isBoard     bool             // it is of the settings; it has cards
	title            string           // for people
	workspace        string           // of a board
	hostKind         projectfile.Kind // of a board that is issues
	token            string
	app              bool              // signs in in the place of the token
	path, secretName string            // of its webhooks, and the variable of their secret
	secrets          signature.Secrets // of webhooks: those of the settings, then also what SecretEnv names
	signed           bool              // the settings have one that is not about to be replaced
}

// neighbours are those of the settings and of the registry: hosts, and behind them the boards.
func (s Settings) neighbours(r projectfile.Neighbours) []neighbour {
	hub, cards := s.GitHub.Options(), s.Plane.Options()
	list := []neighbour{{
		Host: projectfile.Host{
			Name: task.HostGitHub, Kind: projectfile.KindGitHub, URL: hub.BaseURL,
			CloneBase: s.GitHub.CloneBase, TokenEnv: Prefix + "GITHUB_TOKEN",
		},
		own: true, title: "GitHub", path: "githost", secretName: Prefix + "GITHUB_WEBHOOK_SECRET",
		token: hub.Token, app: hub.App != nil, secrets: hub.Secrets, signed: s.GitHub.Secret.IsSet(),
	}}
	for _, h := range r.Hosts {
		list = append(list, neighbour{Host: h})
	}
	if s.Tracker == trackerPlane {
		list = append(list, neighbour{
			Host: projectfile.Host{Kind: projectfile.KindPlane, URL: cards.BaseURL, TokenEnv: Prefix + "PLANE_TOKEN"},
			own:  true, isBoard: true, title: "Plane", path: "tracker", secretName: Prefix + "PLANE_WEBHOOK_SECRET",
			workspace: cards.Workspace, token: cards.Token, secrets: cards.Secrets, signed: s.Plane.Secret.IsSet(),
		})
	}
	for _, b := range r.Boards {
		n := neighbour{
			Host:    projectfile.Host{Name: b.Name, Kind: b.Kind, URL: b.URL, TokenEnv: b.TokenEnv, SecretEnv: b.SecretEnv},
			isBoard: true, workspace: b.Workspace,
		}
		for _, at := range list {
			if b.Kind == projectfile.KindLabels && at.Name == b.Host && !at.isBoard {
				n.URL, n.hostKind = at.URL, at.Kind
				if n.TokenEnv == "" {
					n.TokenEnv, n.token = at.TokenEnv, at.token
				}
			}
		}
		list = append(list, n)
	}
	for i := range list {
		n := &list[i]
		n.kind, n.title, n.path = kinds()[n.Kind], cmp.Or(n.title, n.Name), "/webhooks/"+cmp.Or(n.path, n.Name)
		if len(n.SecretEnv) > 0 {
			n.secretName = n.SecretEnv[0]
		}
	}
	return list
}

// source names it in delivery records.
func (n neighbour) source() string { return cmp.Or(n.Name, string(n.Kind)) }

// what names it in errors.
func (n neighbour) what() string {
	if n.isBoard {
		return "board " + n.source()
	}
	return "host " + n.source()
}
