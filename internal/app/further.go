package app

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

// Kind is a program that has repositories, boards or a chat, and that this module does not know: an entry of hosts or boards of
// the registry names it. What it is not is nil.
type Kind struct {
	Name  string
	Host  func(Entry) (GitHost, error)
	Board func(Entry) (BoardHost, error)
	Chat  func(Entry) (Chat, error) // nil without an error: it is not set up

	TokenPage string // where a person makes a token; empty: at the address of the entry
	Hook      string // where a person makes a webhook, as " at Settings, API, to %s"; empty: it is not said
}

// Entry holds what the registry says of a neighbour, its secrets, and what it is called with.
type Entry struct {
	Name, URL, Workspace string
	Token                string
	Secrets              signature.Secrets // of webhooks; a reload sets others
	Unsigned             bool              // webhooks are taken without a signature while there are no secrets
	HTTP                 *http.Client
	Log                  *slog.Logger
}

func (v *Service) entry(n neighbour) Entry {
	return Entry{
		Name: n.Name, URL: n.URL, Workspace: n.workspace, Token: n.token, Secrets: n.secrets,
		Unsigned: v.Settings.InsecureWebhooks, HTTP: v.Settings.client(), Log: v.Log,
	}
}

// With adds kinds to those of the program.
func (s Settings) With(kinds ...Kind) (Settings, error) {
	all := map[projectfile.Kind]kind{}
	maps.Copy(all, s.further)
	for _, k := range kinds {
		name := projectfile.Kind(k.Name)
		if _, taken := s.kinds()[name]; taken || k.Name == "" || k.Host == nil && k.Board == nil && k.Chat == nil {
			return s, fmt.Errorf("the kind %q: its name is taken or empty, or it is no host, board or chat", k.Name)
		}
		one := kind{
			hook:      func(neighbour) string { return cmp.Or(k.Hook, " to %s") },
			tokenPage: func(n neighbour) string { return cmp.Or(k.TokenPage, n.URL) },
		}
		if k.Host != nil {
			one.host = func(v *Service, n neighbour) (GitHost, error) { return k.Host(v.entry(n)) }
		}
		if k.Board != nil {
			one.board = func(v *Service, n neighbour) (BoardHost, error) { return k.Board(v.entry(n)) }
		}
		if k.Chat != nil {
			one.chat = func(v *Service) (Chat, error) { return k.Chat(v.entry(neighbour{})) }
		}
		all[name] = one
		s.further = all
	}
	return s, nil
}

// Kinds are the names of those that were added.
func (s Settings) Kinds() []projectfile.Kind { return slices.Collect(maps.Keys(s.further)) }
