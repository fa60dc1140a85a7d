package setup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/internal/proposal"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// entry is a new one of the project registry.
type entry struct {
	Tracker, Board, Host, Repo, CloneURL, Main, Prefix string
	CI                                                 string // as it stands in the file
	copied                                             bool   // CloneURL is a copy of the local repository, which may have to be made
	before                                             string // the registry
	head                                               string // hosts and boards that it lacks
}

// entry asks for what the registry lacks; nil when it has the repository.
func (s *setup) entry(ctx context.Context) (*entry, error) {
	body, err := os.ReadFile(registry())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	e := &entry{Host: "git", CloneURL: s.CloneURL, before: string(body)}
	var have projectfile.Neighbours
	if err == nil {
		r, err := projectfile.Parse(registry(), body)
		if err != nil {
			return nil, err
		}
		have = r.Neighbours
		for i, p := range r.Projects.All() {
			if s.Repo == "" && s.CloneURL == "" || strings.EqualFold(p.Repo, s.Repo) || p.CloneURL == s.CloneURL {
				s.Say("%s: has %s, with cards %s-…; kept as it is", registry(), p.Repo, p.Prefix)
				return nil, s.untaken(r, i, p)
			}
		}
	}
	if s.board != nil && s.board.Find != nil {
		if err := errors.Join(s.onBoard(ctx, e), s.lacking()); err != nil {
			return nil, err
		}
	}
	if s.host != nil {
		if err := errors.Join(s.onHost(ctx, e), s.lacking()); err != nil {
			return nil, err
		}
		s.neighbours(e, have)
		return e, s.fill(ctx, e)
	}
	if e.CloneURL == "" && s.local.root == "" {
		return nil, errors.New("this is no git repository: run it in one, or name one with --clone-url")
	}
	if err := s.place(ctx, e); err != nil {
		return nil, err
	}
	return e, s.fill(ctx, e)
}

// place says where the repository is.
func (s *setup) place(ctx context.Context, e *entry) error {
	if e.Repo = s.Repo; e.Repo == "" {
		e.Repo = nameOf(e.CloneURL, s.local.root)
	}
	if e.Main = s.Main; e.CloneURL != "" {
		e.CloneURL = pathOrURL(e.CloneURL)
		return look(ctx, e)
	}
	// cards need all commits of the copy
	if shallow, _ := git(ctx, s.local.root, "rev-parse", "--is-shallow-repository"); shallow == "true" {
		return fmt.Errorf("the repository %s is a shallow clone: git fetch --unshallow", s.local.root)
	}
	e.Main = cmp.Or(e.Main, s.local.branch)
	e.CloneURL, e.copied = absolute(filepath.Join(dataDir(), "repositories", filepath.FromSlash(e.Repo)+".git")), true
	return nil
}

// fill asks for the other fields.
func (s *setup) fill(ctx context.Context, e *entry) (err error) {
	_, name, _ := strings.Cut(e.Repo, "/")
	if e.Prefix, err = s.Ask(ctx, "--prefix", s.Prefix, "Prefix of cards", prefixOf(name)); err != nil {
		return err
	}
	e.Tracker = cmp.Or(e.Tracker, strings.ToLower(e.Prefix))
	ci := s.CI
	if e.CI == "" { // no host has said
		found, otherwise := "", none
		if s.CloneURL == "" {
			found = s.local.testedBy()
		}
		if s.lines != nil {
			otherwise = cmp.Or(found, none)
		} else if found != "" && ci == "" {
			s.Say("nothing tests commits: --ci '%s' would", found)
		}
		if ci, err = s.Ask(ctx, "--ci", ci, "Command that tests a commit, such as make test", otherwise); err != nil {
			return err
		}
	}
	var commands string
	if ci != "" && ci != none {
		argv, err := agentcli.Split(ci)
		if err != nil {
			return fmt.Errorf("--ci: %w", err)
		}
		commands = "[" + list(argv) + "]"
	}
	if e.CI == "" {
		e.CI = cmp.Or(commands, none)
	} else if commands != "" { // the service runs it beside the host's checks
		e.CI += "\n    verify: " + commands
	}
	return nil
}

// untaken says which flags differ from the entry that is kept, and where each stands.
func (s *setup) untaken(r projectfile.Registry, at int, p task.Project) error {
	argv, err := agentcli.Split(s.CI)
	if err != nil && s.CI != "" {
		return fmt.Errorf("--ci: %w", err)
	}
	isRun := func(one []string) bool { return slices.Equal(one, argv) }
	entry, _ := r.Neighbours.Host(p.Host)
	host, board := cmp.Or(s.host, &proposal.Account{}), cmp.Or(s.board, &proposal.Account{})
	for _, f := range []struct {
		flag, field string
		differs     bool
	}{
		{"--repo", "repo", s.Repo != "" && !strings.EqualFold(s.Repo, p.Repo)},
		{"--clone-url", "clone_url", s.CloneURL != "" && pathOrURL(s.CloneURL) != p.CloneURL},
		{"--main", "main", s.Main != "" && s.Main != p.Main},
		{"--prefix", "prefix", s.Prefix != "" && s.Prefix != p.Prefix},
		{"--ci", "ci", s.CI != "" && !(s.CI == none && p.WithoutCI()) && !slices.ContainsFunc(append(p.CI, p.Verify...), isRun)},
		{host.Flag, "host", s.host != nil && (p.HostName() != host.Name || entry.URL != host.URL && host.Kind != "")},
		{board.Flag, "board", board.Kind != "" && p.Board == ""},
		{
			board.ProjectFlag, "tracker_project",
			board.Project != "" && board.Project != p.TrackerProject && !strings.EqualFold(board.Project, p.Prefix),
		},
	} {
		if f.differs {
			s.Say("%v", r.Placed(&task.FieldError{Entry: at, Repo: p.Repo, Field: f.field, Text: f.flag + " is not taken: change it here"}))
		}
	}
	return nil
}

// list is a list of texts, in JSON, which is YAML too.
func list(words []string) string {
	body, err := json.Marshal(words)
	if err != nil { // texts always can be
		return "[]"
	}
	return string(body)
}

// text is the entry as it stands in the file.
func (e *entry) text() string {
	var b strings.Builder
	for _, f := range []struct{ name, value string }{
		{"tracker_project", e.Tracker},
		{"board", e.Board},
		{"host", e.Host},
		{"repo", e.Repo},
		{"clone_url", e.CloneURL},
		{"main", e.Main},
		{"prefix", e.Prefix},
	} {
		if f.value != "" {
			fmt.Fprintf(&b, "    %s: %s\n", f.name, quoted(f.value))
		}
	}
	return "  - " + strings.TrimLeft(b.String(), " ") + "    ci: " + e.CI + "\n"
}

// after is the registry with the entry.
func (e *entry) after() (string, error) {
	body := e.before
	if strings.TrimSpace(body) == "" {
		body = "projects:\n"
	} else if !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	body = e.head + body + e.text()
	if _, err := projectfile.Parse(registry(), []byte(body)); err != nil {
		return "", fmt.Errorf("the entry cannot be added: %w\nAdd it yourself, if the file is to stay as it is:\n%s%s",
			err, e.head, e.text())
	}
	return body, nil
}

// write adds the entry to the registry.
func (e *entry) write(say func(string, ...any)) error {
	body, err := e.after()
	if err != nil {
		return err
	}
	if err := replace(registry(), e.before, body); err != nil {
		return err
	}
	say("%s: added %s, with cards %s-…", registry(), e.Repo, e.Prefix)
	return nil
}
