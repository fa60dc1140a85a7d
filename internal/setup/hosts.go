package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/githost"
)

// Names in the registry and the environment of what init makes there.
const (
	giteaName   = "gitea"
	giteaToken  = "GITEA_TOKEN" //nolint:gosec // the name of a variable
	giteaSecret = "GITEA_WEBHOOK_SECRET"
	boardName   = "issues"
	boardSecret = "BOARD_WEBHOOK_SECRET"
)

// codeHost is a git host as init examines it.
type codeHost interface {
	githost.Examiner
	Ping(ctx context.Context) error
	Checks(ctx context.Context, repo, base, sha string) ([]githost.Check, error)
}

// where is how people reach the git host.
type where struct {
	name, token, flag string // what it is called, the variable of its token, the flag of its address
	page              string // where a token is made
}

// openHost opens the git host of the options.
func (s *setup) openHost() (codeHost, where, error) {
	if s.Gitea != "" {
		s.Gitea = strings.TrimSuffix(s.Gitea, "/")
		c, err := gitea.New(gitea.Options{BaseURL: s.Gitea, Token: s.giteaToken, Insecure: true}) // no webhook comes here
		return c, where{"Gitea", giteaToken, "--gitea", s.Gitea + "/user/settings/applications"}, err
	}
	c, err := github.New(github.Options{BaseURL: s.GitHubURL, Token: s.githubToken.Reveal(), Insecure: true}) // as above
	return c, where{"GitHub", "ORCH_GITHUB_TOKEN", "--github-url", s.tokenPage()}, err
}

// isHosted reports whether the repository is on a git host.
func (s *setup) isHosted() bool { return s.GitHub || s.Gitea != "" }

// hostAccounts gathers what is needed to reach a gitea.
func (s *setup) hostAccounts(ctx context.Context) (err error) {
	switch {
	case s.Labels && !s.isHosted():
		return errors.New("--labels: there are no issues without a git host: give --github or --gitea too")
	case s.Labels && s.Plane:
		return errors.New("--labels and --plane are two boards: give one of them")
	case s.GitHub && s.Gitea != "":
		return errors.New("--github and --gitea are two git hosts: give the one that has the repository")
	case s.Gitea == "":
		return nil
	}
	if s.giteaToken = os.Getenv(giteaToken); s.giteaToken != "" {
		s.env.add(giteaToken, "", "Token of Gitea")
	} else {
		text := "Token of Gitea with the scopes write:repository, write:issue and read:user (" + s.Gitea + "/user/settings/applications)"
		s.giteaToken, err = s.unseen(ctx, giteaToken, text)
	}
	return err
}

// unseen asks for a secret, which is not shown while it is typed, and notes it.
func (s *setup) unseen(ctx context.Context, name, question string) (string, error) {
	if s.Echo != nil {
		s.Echo(false)
		defer func() { s.Echo(true); s.say("") }()
	}
	typed, err := s.ask(ctx, name+" (in the environment)", "", question, "")
	s.env.add(name, typed, question)
	return typed, err
}

// neighbours notes in the entry the host and the board that the registry needs for it.
func (s *setup) neighbours(e *entry, have projectfile.Neighbours) {
	if s.Gitea != "" {
		e.Host = giteaName
		if _, known := have.Host(giteaName); !known {
			e.head += fmt.Sprintf("hosts:\n  - {name: %s, kind: gitea, url: %s, clone_base: %s, token_env: %s, secret_env: [%s]}\n",
				giteaName, quoted(s.Gitea), quoted(cloneBase(e.CloneURL, e.Repo)), giteaToken, giteaSecret)
		}
	}
	if s.Labels {
		e.Board, e.Tracker = boardName, e.Repo
		if _, known := have.Board(boardName); !known {
			e.head += fmt.Sprintf("boards:\n  - {name: %s, kind: labels, host: %s, secret_env: [%s]}\n",
				boardName, cmp.Or(e.Host, "github"), boardSecret)
		}
	}
}

// cloneBase is how clone URLs of a host begin, by one of them.
func cloneBase(url, repo string) string {
	if base, ok := strings.CutSuffix(strings.TrimSuffix(url, ".git"), repo); ok {
		return base
	}
	return url
}

func quoted(text string) string {
	one := list([]string{text})
	return one[1 : len(one)-1]
}
