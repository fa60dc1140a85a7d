package app

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/agentcli/agentout"
	"github.com/signalbox-dev/signalbox/adapters/chathook"
	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/adapters/rehearse"
	"github.com/signalbox-dev/signalbox/adapters/slack"
	"github.com/signalbox-dev/signalbox/adapters/telegram"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// AgentSettings say which agents there are, and what they see.
type AgentSettings struct {
	Agent     string   `env:"AGENT" envDefault:"claude" doc:"agent where the registry names none: claude, codex, gemini, opencode or a command"`
	AgentEnv  []string `env:"AGENT_ENV" doc:"further names that agents see of this environment, X_* for a prefix"`
	AgentHome []string `env:"AGENT_HOME" doc:"files of HOME that agents get copies of, such as .npmrc; how they sign in is copied anyway"`

	AgentTermGrace time.Duration `env:"AGENT_TERM_GRACE" envDefault:"20s" doc:"between TERM and KILL"`
}

// ownAgents are the agents that this program has built in, by name.
func ownAgents() map[string]agentcli.Preset {
	self, err := os.Executable() // by its name: in a jail of namespaces /proc/self is another program
	if err != nil {
		return nil
	}
	return map[string]agentcli.Preset{rehearse.Name: {Argv: []string{self, rehearse.Command}, Format: agentout.Claude}}
}

// kind is a program that has repositories, boards or a chat. All that the service says and does for one alone is here, or in
// its adapter.
type kind struct {
	own   func(s Settings) neighbour // that the settings describe; nil: they describe none
	host  func(v *Service, n neighbour) (GitHost, error)
	board func(v *Service, n neighbour) (BoardHost, error)
	chat  func(v *Service) (Chat, error) // of the settings; nil: they have none

	tokenPage func(n neighbour) string // where a person makes a token of a host
	// hook says what a webhook of a board is made for, and where: it ends the words "make one", as a format of the address.
	hook func(n neighbour) string
}

// kinds are the programs that the service works with. A further one has its entry here.
func (s Settings) kinds() map[projectfile.Kind]kind {
	list := map[projectfile.Kind]kind{
		projectfile.KindGitHub: {
			tokenPage: func(n neighbour) string { return github.TokenPage(n.URL) },
			own: func(s Settings) neighbour {
				o := s.GitHub.Options()
				n := neighbour{
					Host: projectfile.Host{
						Name: task.HostGitHub, URL: o.BaseURL, CloneBase: s.GitHub.CloneBase, TokenEnv: "ORCH_GITHUB_TOKEN",
					},
					title: "GitHub", path: "githost", secretName: "ORCH_GITHUB_WEBHOOK_SECRET", lacks: s.GitHub.Check(),
					token: o.Token, app: o.App != nil, secrets: o.Secrets, signed: s.GitHub.Secret.IsSet(),
				}
				if n.app {
					n.accepted = "the app is accepted"
					n.mend = "look whether ORCH_GITHUB_APP_KEY is a private key of the app ORCH_GITHUB_APP_ID, " +
						"and whether this machine's clock is right"
				}
				return n
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
			tokenPage: func(n neighbour) string { return gitea.TokenPage(n.URL) },
			host: func(v *Service, n neighbour) (GitHost, error) {
				return gitea.New(gitea.Options{
					BaseURL: n.URL, Token: n.token, Secrets: n.secrets,
					Insecure: v.Settings.InsecureWebhooks, HTTPClient: v.Settings.client(),
				})
			},
		},
		projectfile.KindPlane: {
			hook: func(n neighbour) string {
				return " for work items (issues) to %s in the workspace's settings at " + n.URL + ", and set its secret as " +
					n.secretName + " (Plane takes none to its own host or to loopback)"
			},
			own: func(s Settings) neighbour {
				o := s.Plane.Options()
				return neighbour{
					Host:    projectfile.Host{URL: o.BaseURL, TokenEnv: "ORCH_PLANE_TOKEN"},
					isBoard: true, title: "Plane", path: "tracker", secretName: "ORCH_PLANE_WEBHOOK_SECRET",
					lacks:     s.checkNeeded("PLANE_"),
					workspace: o.Workspace, workspaceName: "ORCH_PLANE_WORKSPACE",
					token: o.Token, secrets: o.Secrets, signed: s.Plane.Secret.IsSet(),
				}
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
			hook: func(neighbour) string { return " to %s" },
			board: func(v *Service, n neighbour) (BoardHost, error) {
				h, err := n.under.host(v, n)
				if err != nil {
					return nil, err
				}
				return labelboard.New(labelboard.Options{
					Issues: h.Issues(), Secrets: n.secrets, Insecure: v.Settings.InsecureWebhooks, Log: v.Log,
				})
			},
		},
		"chathook": {chat: func(v *Service) (Chat, error) {
			o := v.Settings.Chat
			if !o.URL.IsSet() {
				return nil, nil
			}
			o.Client = v.Settings.client()
			return chathook.New(o)
		}},
		"slack": {chat: func(v *Service) (Chat, error) {
			o := v.Settings.Slack
			if !o.Token.IsSet() {
				return nil, nil
			}
			o.HTTPClient, o.Log = v.Settings.client(), v.Log
			return slack.New(o)
		}},
		"telegram": {chat: func(v *Service) (Chat, error) {
			o := v.Settings.Telegram
			if !o.Token.IsSet() {
				return nil, nil
			}
			o.HTTPClient, o.Log = v.Settings.client(), v.Log
			o.Hooks = v.Settings.publicURL() + "/webhooks/telegram"
			return telegram.New(o)
		}},
	}
	maps.Copy(list, s.further)
	return list
}

// kindsWith are those of a sort, in their order.
func (s Settings) kindsWith(is func(kind) bool) (names []string) {
	for name, k := range s.kinds() {
		if is(k) {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names
}

// neighbour is a git host or a board: one of the settings, or an entry of the registry.
type neighbour struct {
	projectfile.Host        // of a board, too
	kind                    // of it
	own, isBoard     bool   // it is of the settings; it has cards
	title            string // for people
	workspace        string // of a board
	workspaceName    string // what people call the setting of it
	under            kind   // of the host of a board that is issues
	lacks            error  // of the settings, when it is used
	token            string
	app              bool              // signs in in the place of the token
	accepted, mend   string            // what is said of a host where its sign-in is not by a token
	path, secretName string            // of its webhooks, and the variable of their secret
	secrets          signature.Secrets // of webhooks: those of the settings, then also what SecretEnv names
	signed           bool              // the settings have one that is not about to be replaced
}

// neighbours are those of the settings and of the registry.
func (s Settings) neighbours(r projectfile.Neighbours) (list []neighbour) {
	kinds := s.kinds()
	for _, name := range s.kindsWith(func(k kind) bool { return k.own != nil }) {
		n := kinds[projectfile.Kind(name)].own(s)
		if n.Kind, n.own = projectfile.Kind(name), true; !n.isBoard || s.Tracker == name {
			list = append(list, n)
		}
	}
	for _, h := range r.Hosts {
		list = append(list, neighbour{Host: h})
	}
	for _, b := range r.Boards {
		n := neighbour{
			Host:    projectfile.Host{Name: b.Name, Kind: b.Kind, URL: b.URL, TokenEnv: b.TokenEnv, SecretEnv: b.SecretEnv},
			isBoard: true, workspace: b.Workspace,
		}
		for _, at := range list {
			if b.Kind == projectfile.KindLabels && at.Name == b.Host && !at.isBoard {
				n.URL, n.under = at.URL, kinds[at.Kind]
				if n.TokenEnv == "" {
					n.TokenEnv, n.token = at.TokenEnv, at.token
				}
			}
		}
		list = append(list, n)
	}
	for i := range list {
		n := &list[i]
		n.kind, n.title, n.path = kinds[n.Kind], cmp.Or(n.title, n.Name), "/webhooks/"+cmp.Or(n.path, n.source())
		if len(n.SecretEnv) > 0 {
			n.secretName = n.SecretEnv[0]
		}
		n.workspaceName = cmp.Or(n.workspaceName, "workspace in "+s.Projects)
	}
	return list
}

// source names it in delivery records.
func (n neighbour) source() string { return cmp.Or(n.Name, string(n.Kind)) }

// commonSecret is the newest secret of its webhooks that speaks for all repositories; empty = there is none.
func (n neighbour) commonSecret() string {
	for _, s := range n.secrets {
		if s.Repo == "" {
			return s.Value
		}
	}
	return ""
}

// what names it in errors.
func (n neighbour) what() string {
	if n.isBoard {
		return "board " + n.source()
	}
	return "host " + n.source()
}
