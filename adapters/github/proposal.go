package github

import (
	"context"
	"regexp"

	"github.com/signalbox-dev/signalbox/internal/proposal"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// OnGitHub holds what init is told.
type OnGitHub struct {
	GitHub    bool   `name:"github" help:"The repository is on GitHub; without it there is no git host."`
	GitHubURL string `name:"github-url" help:"Address of GitHub's REST API, where it is not github.com's." placeholder:"URL"`
}

// clonedFrom is an address of a repository on github.com.
var clonedFrom = regexp.MustCompile(`^(?:[a-z+]+://)?(?:[^@/]+@)?github\.com(?::\d+)?[:/]`)

// Propose implements the proposal of an account; nil where it is not chosen.
func (o *OnGitHub) Propose(ctx context.Context, a proposal.Answers) (*proposal.Account, error) {
	at := &proposal.Account{
		Flag: "--github", Title: "GitHub", Name: task.HostGitHub, URLFlag: "--github-url", Token: "ORCH_GITHUB_TOKEN",
		Secret: "ORCH_GITHUB_WEBHOOK_SECRET", Why: "of GitHub's webhooks", CloneBase: "ORCH_GITHUB_CLONE_BASE", Home: "github.com",
	}
	if here, known := a.(proposal.Place); known && !o.GitHub && clonedFrom.MatchString(here.Origin(ctx)) {
		if o.GitHub = a.Value(at.Token) != ""; !o.GitHub {
			here.Say("the repository was cloned from GitHub: with --github cards end as pull requests there, without it in a copy here")
		}
	}
	if !o.GitHub {
		return nil, nil
	}
	at.URL = a.Take(at.URLFlag, "ORCH_GITHUB_URL", o.GitHubURL, "GitHub's REST API")
	at.Page = TokenPage(at.URL)
	token, err := a.Secret(ctx, at.Token, "Token of GitHub that may write contents and pull requests ("+at.Page+")")
	at.Open = func() (proposal.Host, error) {
		return New(Options{BaseURL: at.URL, Token: token, Insecure: true}) // no webhook comes here
	}
	return at, err
}

// TokenPage is where a person makes a token, by the address of the REST API.
func TokenPage(url string) string {
	if url == "" {
		return "https://github.com/settings/personal-access-tokens"
	}
	return url + " (Settings, Developer settings)"
}
