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

	Analyst   secret.String `env:"PLANE_TOKEN_ANALYST" doc:"comments of the analyst; unset: the shared token"`
	Architect secret.String `env:"PLANE_TOKEN_ARCHITECT" doc:"comments of the architect"`
	Developer secret.String `env:"PLANE_TOKEN_DEVELOPER" doc:"comments of the developer"`
	Reviewer  secret.String `env:"PLANE_TOKEN_REVIEWER" doc:"comments of the reviewer"`
	Tester    secret.String `env:"PLANE_TOKEN_TESTER" doc:"comments of the tester"`
	Deployer  secret.String `env:"PLANE_TOKEN_DEPLOYER" doc:"comments of the deployer"`
	Stream    secret.String `env:"PLANE_TOKEN_STREAM" doc:"comments about stage changes"`
}

// Options are those of a client.
func (s Settings) Options() Options {
	return Options{
		BaseURL: s.URL, Workspace: s.Workspace, Token: s.Token.Reveal(), States: s.States,
		Secrets: signature.Of(s.Secret.Reveal(), s.SecretOld.Reveal()),
		RoleTokens: map[stage.Role]string{
			stage.Analyst: s.Analyst.Reveal(), stage.Architect: s.Architect.Reveal(), stage.Developer: s.Developer.Reveal(),
			stage.Reviewer: s.Reviewer.Reveal(), stage.Tester: s.Tester.Reveal(), stage.Deployer: s.Deployer.Reveal(),
			stage.Stream: s.Stream.Reveal(),
		},
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
