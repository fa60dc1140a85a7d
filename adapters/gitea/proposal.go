package gitea

import (
	"context"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/proposal"
)

// OnGitea holds what init is told.
type OnGitea struct {
	Gitea string `help:"The repository is on the Gitea or Forgejo at this address." placeholder:"URL"`
}

// Propose implements the proposal of an account; nil where it is not chosen.
func (o *OnGitea) Propose(ctx context.Context, a proposal.Answers) (*proposal.Account, error) {
	at := &proposal.Account{
		Flag: "--gitea", Title: "Gitea", Name: "gitea", Kind: "gitea", URL: strings.TrimSuffix(o.Gitea, "/"), URLFlag: "--gitea",
		Token: "GITEA_TOKEN", Secret: "GITEA_WEBHOOK_SECRET", Why: "of Gitea's webhooks",
	}
	if at.URL == "" {
		return nil, nil
	}
	at.Page = TokenPage(at.URL)
	token, err := a.Secret(ctx, at.Token, "Token of Gitea with the scopes write:repository, write:issue and read:user ("+at.Page+")")
	at.Open = func() (proposal.Host, error) {
		return New(Options{BaseURL: at.URL, Token: token, Insecure: true}) // no webhook comes here
	}
	return at, err
}

// TokenPage is where a person makes a token.
func TokenPage(url string) string { return url + "/user/settings/applications" }
