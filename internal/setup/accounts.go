package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/proposal"
)

// accounts gathers what is needed to reach other services.
func (s *setup) accounts(ctx context.Context) error {
	for _, one := range s.list() {
		at, err := one.Propose(ctx, s)
		if err != nil {
			return err
		}
		switch {
		case at == nil:
		case at.Board && s.board != nil:
			return fmt.Errorf("%s and %s are two boards: give one of them", at.Flag, s.board.Flag)
		case at.Board:
			s.board = at
		case s.host != nil:
			return fmt.Errorf("%s and %s are two git hosts: give the one that has the repository", s.host.Flag, at.Flag)
		default:
			s.host = at
		}
	}
	if s.board != nil && s.board.Find == nil && s.host == nil {
		return fmt.Errorf("%s: there are no issues without a git host: give the flag of one too", s.board.Flag)
	}
	return nil
}

// Value is the first of the answers that adapters are given.
func (s *setup) Value(name string) string { return valueOf(name) }

func (s *setup) Origin(ctx context.Context) string {
	if s.CloneURL != "" { // another repository
		return ""
	}
	return s.local.origin(ctx)
}

func (s *setup) Setting(ctx context.Context, name, flag, given, question string) (string, error) {
	if s.env.has(name) {
		s.Take(flag, name, given, question)
		return valueOf(name), nil
	}
	value, err := s.Ask(ctx, flag, given, question, "")
	s.env.add(name, value, question)
	return value, err
}

func (s *setup) Secret(ctx context.Context, name, question string) (value string, err error) {
	if strings.HasPrefix(name, app.Prefix) {
		value, _, err = app.Given(os.Environ(), name)
	} else {
		value = os.Getenv(name)
	}
	if err != nil || value != "" {
		s.env.add(name, "", question)
		return value, err
	}
	if s.Echo != nil { // it is not shown while it is typed
		s.Echo(false)
		defer func() { s.Echo(true); s.Say("") }()
	}
	value, err = s.Ask(ctx, name+" (in the environment)", "", question, "")
	s.env.add(name, value, question)
	return value, err
}

// onBoard finds the project of a board that has several.
func (s *setup) onBoard(ctx context.Context, e *entry) error {
	project, prefix, err := s.board.Find(ctx)
	e.Tracker, s.Prefix = project, cmp.Or(s.Prefix, prefix)
	return err
}

// onHost describes the repository as its git host does.
func (s *setup) onHost(ctx context.Context, e *entry) error {
	e.Host = ""
	if origin := s.local.origin(ctx); origin != "" {
		e.Repo = nameOf(origin, s.local.root)
	}
	e.Repo = cmp.Or(s.Repo, e.Repo)
	at := s.host
	c, err := at.Open()
	if err != nil {
		return err
	}
	if e.Repo, err = s.Ask(ctx, "--repo", e.Repo, "Repository on "+at.Title+", as owner/name", ""); err != nil || e.Repo == "" {
		return err
	}
	err = c.Ping(ctx)
	switch {
	case errors.Is(err, githost.ErrDenied):
		return fmt.Errorf("%s is refused: %w; make one at %s", at.Token, err, at.Page)
	case err != nil:
		return fmt.Errorf("%s: %s does not answer: %w", at.URLFlag, at.Title, err)
	}
	r, err := c.Repository(ctx, e.Repo)
	if errors.Is(err, githost.ErrNotFound) {
		return fmt.Errorf("--repo: the token sees no repository %s: %w; correct the name, or give the token access to it at %s",
			e.Repo, err, at.Page)
	}
	if err != nil {
		return err
	}
	if !r.Push {
		return fmt.Errorf("the token may read %s and not push to it: give it write access to contents and pull requests at %s",
			e.Repo, at.Page)
	}
	e.Repo, e.Main, e.CloneURL = r.Name, cmp.Or(s.Main, r.DefaultBranch), cmp.Or(e.CloneURL, r.CloneURL)
	if u, err := url.Parse(e.CloneURL); at.CloneBase != "" && err == nil && u.Scheme == "https" && u.Host != at.Home {
		s.env.add(at.CloneBase, "https://"+u.Host+"/", "git signs in there with the token")
	}
	return s.checks(ctx, c, e)
}

// checks names those that a commit waits for: what the protection of main demands, else what
// has reported on main.
func (s *setup) checks(ctx context.Context, c proposal.Host, e *entry) error {
	b, err := c.Protection(ctx, e.Repo, e.Main)
	if errors.Is(err, githost.ErrNotFound) {
		return fmt.Errorf("--main: %s has no branch %s: push a first commit to it, or name another", e.Repo, e.Main)
	}
	if err != nil {
		return err
	}
	names := b.Contexts
	e.CI = "any"
	if len(names) == 0 {
		list, err := c.Checks(ctx, e.Repo, e.Main, b.SHA)
		if err != nil {
			return err
		}
		for _, one := range list {
			if one.Kind != "check_suite" { // its name is an app's
				names = append(names, one.Name)
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
		files, unseen := git(ctx, cmp.Or(s.local.root, "."), "ls-tree", "-r", "--name-only", b.SHA) // where this is a clone of it
		if len(list) == 0 && unseen == nil && checks.FindCI(strings.Split(files, "\n")) == "" {
			e.CI = none
		}
	}
	if len(names) > 0 {
		e.CI = list(names)
	}
	s.Say("%s: main is %s, checks: %s", e.Repo, e.Main, e.CI)
	switch {
	case e.CI == none:
		s.Say("%s: nothing reports on %s, and no file there configures a CI: ci is none, so that no card waits for one; "+
			"name checks in ci of %s when there are some", e.Repo, e.Main, registry())
	case len(names) == 0:
		s.Say("%s: nothing has reported on %s yet: cards wait for the first check that does; "+
			"set ci to none in %s if there will be none", e.Repo, e.Main, registry())
	}
	return nil
}

// neighbours notes in the entry the host and the board that the registry needs for it.
func (s *setup) neighbours(e *entry, have projectfile.Neighbours) {
	at := s.host
	if at.Kind != "" {
		e.Host = at.Name
		if _, known := have.Host(at.Name); !known {
			e.head += fmt.Sprintf("hosts:\n  - {name: %s, kind: %s, url: %s, clone_base: %s, token_env: %s, secret_env: [%s]}\n",
				at.Name, at.Kind, quoted(at.URL), quoted(cloneBase(e.CloneURL, e.Repo)), at.Token, at.Secret)
		}
	}
	if b := s.board; b != nil && b.Kind != "" {
		e.Board, e.Tracker = b.Name, e.Repo
		if _, known := have.Board(b.Name); !known {
			e.head += fmt.Sprintf("boards:\n  - {name: %s, kind: %s, host: %s, secret_env: [%s]}\n", b.Name, b.Kind, at.Name, b.Secret)
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
