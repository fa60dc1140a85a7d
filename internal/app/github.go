package app

import (
	"context"
	"maps"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/github"
)

// signsInToGitHub reports whether there is something to sign in with.
func (s Settings) signsInToGitHub() bool { return s.GitHubToken.IsSet() || s.GitHubAppKey.IsSet() }

// githubApp is the app that signs in; nil: a token does.
func (s Settings) githubApp() *github.App {
	if !s.GitHubAppKey.IsSet() {
		return nil
	}
	return &github.App{ID: s.GitHubAppID, Key: s.GitHubAppKey.Reveal(), Installation: s.GitHubApp}
}

// tokenOf gives what git signs in with to a repository. github.Client has it.
type tokenOf interface {
	Token(ctx context.Context, repo string) (string, error)
}

// gitTokens returns the tokens that git signs in with, by the beginning of clone URLs: where an
// app signs in, a token of its installation for the remote's repository.
func (v *Service) gitTokens() func(ctx context.Context, remote string) (map[string]string, error) {
	fixed, apps := map[string]string{}, map[string]tokenOf{}
	for name, a := range v.access {
		if client, ok := v.Hosts[name].(tokenOf); ok && a.app != nil {
			apps[a.CloneBase] = client
		} else {
			fixed[a.CloneBase] = a.token
		}
	}
	return func(ctx context.Context, remote string) (map[string]string, error) {
		out := maps.Clone(fixed)
		for base, client := range apps {
			path, ok := strings.CutPrefix(remote, base)
			if !ok { // it is for another host
				continue
			}
			token, err := client.Token(ctx, strings.TrimSuffix(strings.Trim(path, "/"), ".git"))
			if err != nil {
				return nil, err
			}
			out[base] = token
		}
		return out, nil
	}
}
