package github

import (
	"errors"

	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

// Settings are the options of a program that is set up by its environment.
type Settings struct {
	URL          string        `env:"GITHUB_URL" form:"url" doc:"address of the REST API; unset: GitHub's own"`
	Token        secret.String `env:"GITHUB_TOKEN" doc:"API token; not needed while no repository is on GitHub"`
	AppID        string        `env:"GITHUB_APP_ID" with:"GITHUB_APP_KEY" doc:"App ID or client ID of an app, in the place of a token"`
	AppKey       secret.String `env:"GITHUB_APP_KEY" doc:"its private key, the PEM file that GitHub gives for download"`
	Installation int64         `env:"GITHUB_INSTALLATION_ID" doc:"of the app; unset: that of each repository is looked up"`
	Secret       secret.String `env:"GITHUB_WEBHOOK_SECRET" form:"long" doc:"of GitHub's webhooks, at least 16 bytes (openssl rand -hex 32); of projects that have none of their own"`
	SecretOld    secret.String `env:"GITHUB_WEBHOOK_SECRET_OLD" form:"long" doc:"is valid too, while the secret is replaced"`

	CloneBase string `env:"GITHUB_CLONE_BASE" envDefault:"https://github.com/" doc:"clone URLs that begin so are cloned with the API token"`
}

// Options are those of a client.
func (s Settings) Options() Options {
	o := Options{BaseURL: s.URL, Token: s.Token.Reveal(), Secrets: signature.Of(s.Secret.Reveal(), s.SecretOld.Reveal())}
	if s.AppKey.IsSet() {
		o.App = &App{ID: s.AppID, Key: s.AppKey.Reveal(), Installation: s.Installation}
	}
	return o
}

// Check says which of them cannot go together.
func (s Settings) Check() error {
	if s.AppKey.IsSet() && s.Token.IsSet() {
		return errors.New("ORCH_GITHUB_TOKEN and ORCH_GITHUB_APP_KEY are set, and one signs in: take one of them away")
	}
	return nil
}
