package plane

import (
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Settings are the options of a program that is set up by its environment.
type Settings struct {
	URL       string        `env:"PLANE_URL" form:"url" needed:"true" doc:"address of Plane"`
	Workspace string        `env:"PLANE_WORKSPACE" needed:"true" doc:"slug of the workspace"`
	Token     secret.String `env:"PLANE_TOKEN" needed:"true" doc:"shared API token"`
	Secret    secret.String `env:"PLANE_WEBHOOK_SECRET" form:"long" doc:"of Plane's webhook, at least 16 bytes; of projects that have none of their own"`
	SecretOld secret.String `env:"PLANE_WEBHOOK_SECRET_OLD" form:"long" doc:"is valid too, while the secret is replaced"`

	States map[stage.Status]string `env:"PLANE_STATES" doc:"columns' ids (key:id,…) where a project's are unreadable; never Confirm Deploy"`

	Tokens map[stage.Role]secret.String `env:"PLANE_TOKEN_<ROLE>" doc:"comments of that role (STREAM: of changes); unset: the shared token"`
}

// Options are those of a client.
func (s Settings) Options() Options {
	roles := map[stage.Role]string{}
	for role, token := range s.Tokens {
		roles[role] = token.Reveal()
	}
	return Options{
		BaseURL: s.URL, Workspace: s.Workspace, Token: s.Token.Reveal(), States: s.States,
		Secrets:    signature.Of(s.Secret.Reveal(), s.SecretOld.Reveal()),
		RoleTokens: roles,
	}
}

// Check gives wrong each setting that cannot be, with the rest of a sentence about it.
func (s Settings) Check(wrong func(name, format string, args ...any)) {
	for key := range s.States {
		if _, ok := stage.StatusNamed(key); !ok {
			wrong("PLANE_STATES", "names the status %q, which does not exist", key)
		}
	}
}
