package wiring

import (
	"context"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/adapters/github"
)

// signsInToGitHub reports whether there is something to sign in with.
func (s Settings) signsInToGitHub() bool { return s.GitHubToken.IsSet() || s.GitHubAppKey.IsSet() }

// github are the options of the client.
func (s Settings) github(secrets HookSecrets) github.Options {
	o := github.Options{BaseURL: s.GitHubURL, Token: s.GitHubToken.Reveal(), Secrets: secrets.Host, Insecure: s.InsecureWebhooks, HTTPClient: s.client()}
	if s.GitHubAppKey.IsSet() {
		o.App = &github.App{ID: s.GitHubAppID, Key: s.GitHubAppKey.Reveal(), Installation: s.GitHubApp}
	}
	return o
}

// gitTokens are what git signs in with: to GitHub with what the client does.
func (v *Service) gitTokens() gitcli.Tokens {
	base := v.Settings.CloneBase
	switch {
	case v.GitHub == nil:
		return nil
	case !v.Settings.GitHubAppKey.IsSet():
		return gitcli.FixedTokens(map[string]string{base: v.Settings.GitHubToken.Reveal()})
	}
	return func(ctx context.Context, remote string) (map[string]string, error) {
		path, ok := strings.CutPrefix(remote, base)
		if !ok { // it is for another host
			return map[string]string{}, nil
		}
		token, err := v.GitHub.Token(ctx, strings.TrimSuffix(strings.Trim(path, "/"), ".git"))
		if err != nil {
			return nil, err
		}
		return map[string]string{base: token}, nil
	}
}
