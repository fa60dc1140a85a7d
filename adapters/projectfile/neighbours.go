package projectfile

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/yamlplace"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker/mux"
)

// Kind is the program that a host or a board is.
type Kind string

// Kinds of hosts and of boards.
const (
	KindGitHub Kind = "github"
	KindGitea  Kind = "gitea" // Forgejo too
	KindPlane  Kind = "plane"
	KindLabels Kind = "labels" // issues of a git host
)

// Host is a git host that the settings do not describe.
type Host struct {
	Name      string   `yaml:"name"` // also of its webhooks' path, /webhooks/{name}
	Kind      Kind     `yaml:"kind"`
	URL       string   `yaml:"url"`        // of the program; of GitHub its REST API, empty = GitHub's own
	CloneBase string   `yaml:"clone_base"` // clone URLs that begin so are cloned with the token
	TokenEnv  string   `yaml:"token_env"`  // variable of the environment
	SecretEnv []string `yaml:"secret_env"` // variables with the secrets of its webhooks
}

// Board is a project board that the settings do not describe.
type Board struct {
	Name      string   `yaml:"name"`
	Kind      Kind     `yaml:"kind"`
	Host      string   `yaml:"host"` // of KindLabels: whose issues are the cards
	URL       string   `yaml:"url"`  // of KindPlane
	Workspace string   `yaml:"workspace"`
	TokenEnv  string   `yaml:"token_env"`
	SecretEnv []string `yaml:"secret_env"`
}

// Neighbours are the hosts and boards of a registry.
type Neighbours struct {
	Hosts  []Host
	Boards []Board
}

// Names that are taken: by the settings' own hosts and boards, and by paths of webhooks.
func taken() []string {
	return []string{task.HostGitHub, task.HostGit, "plane", "board", "tracker", "githost"}
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

// fill adds what follows from the rest, and checks. An error comes with the list, the entry
// and the field that it is about.
func (n Neighbours) fill(further []Kind) (list string, entry int, field string, err error) {
	names := taken()
	named := func(name string) error {
		if !nameForm.MatchString(name) {
			return fmt.Errorf("is %q, want small letters, digits, - and _: it is a part of the path of webhooks", name)
		}
		if slices.Contains(names, name) {
			return fmt.Errorf("%q is taken", name)
		}
		names = append(names, name)
		return nil
	}
	for i := range n.Hosts {
		if err := named(n.Hosts[i].Name); err != nil {
			return "hosts", i, "name", err
		}
		if field, err := n.Hosts[i].fill(further); err != nil {
			return "hosts", i, field, err
		}
	}
	for i := range n.Boards {
		if err := named(n.Boards[i].Name); err != nil {
			return "boards", i, "name", err
		}
		if field, err := n.Boards[i].check(n.hostNames(), further); err != nil {
			return "boards", i, field, err
		}
	}
	return "", 0, "", nil
}

func (h *Host) fill(further []Kind) (field string, err error) {
	if h.Kind != KindGitHub && h.Kind != KindGitea && !slices.Contains(further, h.Kind) {
		return "kind", fmt.Errorf("is %q, want %s or %s (Forgejo too)", h.Kind, KindGitHub, KindGitea)
	}
	h.URL = strings.TrimSuffix(h.URL, "/")
	if h.URL == "" && h.Kind == KindGitea {
		return "url", errors.New("is missing: the address of the program, such as https://git.example.org")
	}
	if err := isAddress(h.URL); err != nil {
		return "url", err
	}
	switch {
	case h.CloneBase != "":
	case h.Kind == KindGitea:
		h.CloneBase = h.URL + "/"
	case h.URL == "" && h.Kind == KindGitHub:
		h.CloneBase = "https://github.com/"
	default:
		return "clone_base", errors.New("is missing: how clone URLs begin, such as https://github.example.org/")
	}
	return access(h.TokenEnv, h.SecretEnv)
}

func (b Board) check(hosts []string, further []Kind) (field string, err error) {
	switch b.Kind {
	case KindLabels:
		if !slices.Contains(hosts, b.Host) {
			return "host", fmt.Errorf("is %q, want one of %s: the git host whose issues are the cards", b.Host, strings.Join(hosts, ", "))
		}
		if b.TokenEnv == "" { // as of the host
			b.TokenEnv = "HOST"
		}
	case KindPlane:
		if b.URL == "" || isAddress(b.URL) != nil {
			return "url", fmt.Errorf("is %q, want the address of Plane, such as https://plane.example.org", b.URL)
		}
		if b.Workspace == "" {
			return "workspace", errors.New("is missing: the slug of the workspace")
		}
	default:
		if slices.Contains(further, b.Kind) {
			if err := isAddress(b.URL); err != nil {
				return "url", err
			}
			break
		}
		return "kind", fmt.Errorf("is %q, want %s, or %s for the issues of a git host", b.Kind, KindPlane, KindLabels)
	}
	return access(b.TokenEnv, b.SecretEnv)
}

// access checks the names of the variables that open a neighbour.
func access(token string, secrets []string) (field string, err error) {
	if err := areVariables([]string{token}); err != nil {
		return "token_env", errors.New("want the name of a variable of the environment that holds the token, " +
			"such as FORGE_TOKEN; the token itself does not belong into this file")
	}
	if err := areVariables(secrets); err != nil {
		return "secret_env", err
	}
	return "", nil
}

func isAddress(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil
	case err == nil && u.User != nil:
		return errors.New("has a user or a password in it: leave them out, the token is token_env's")
	case err != nil || u.Host == "":
		return fmt.Errorf("is %q, want an address such as https://git.example.org", text)
	}
	return nil
}

func (n Neighbours) hostNames() []string {
	out := []string{task.HostGitHub}
	for _, h := range n.Hosts {
		out = append(out, h.Name)
	}
	return out
}

// Host finds a host by its name.
func (n Neighbours) Host(name string) (Host, bool) {
	i := slices.IndexFunc(n.Hosts, func(h Host) bool { return h.Name == name })
	if i < 0 {
		return Host{}, false
	}
	return n.Hosts[i], true
}

// Board finds a board by its name.
func (n Neighbours) Board(name string) (Board, bool) {
	i := slices.IndexFunc(n.Boards, func(b Board) bool { return b.Name == name })
	if i < 0 {
		return Board{}, false
	}
	return n.Boards[i], true
}

// place adds to a project what its host and its board say.
func (n Neighbours) place(e entry, p *task.Project) (field string, err error) {
	h, known := n.Host(p.Host)
	if p.Host != "" && !known && !slices.Contains(taken()[:2], p.Host) {
		return "host", fmt.Errorf("host: is %q, want github (the default), git for a repository without a git host, "+
			"or the name of an entry of hosts", p.Host)
	}
	if h.Kind == KindGitea {
		p.Pages = githost.GiteaLayout()
		p.CloneURL = cmp.Or(p.CloneURL, h.URL+"/"+p.HostPath()+".git")
		p.WebURL = cmp.Or(p.WebURL, h.URL+"/"+p.HostPath())
	}
	b, known := n.Board(e.Board)
	if e.Board != "" && !known {
		return "board", fmt.Errorf("board: is %q, want the name of an entry of boards; "+
			"without it cards are where ORCH_TRACKER says", e.Board)
	}
	if b.Kind == KindLabels && p.TrackerProject == "" && b.Host == p.HostName() {
		p.TrackerProject = p.HostPath()
	}
	if e.Board == "" {
		if name := mux.Name(p.TrackerProject); name != "" {
			return "tracker_project", fmt.Errorf("tracker_project: %q has a colon, "+
				"which ids of the first tracker have not: leave it out, or name its entry of boards as board: %s",
				p.TrackerProject, name)
		}
		return "", nil
	}
	p.Board = e.Board
	p.TrackerProject, p.SyncProject = mux.Key(e.Board, p.TrackerProject), mux.Key(e.Board, p.SyncProject)
	for i := range p.MoreBoards {
		more := &p.MoreBoards[i]
		more.TrackerProject, more.SyncProject = mux.Key(e.Board, more.TrackerProject), mux.Key(e.Board, more.SyncProject)
	}
	for _, list := range [][]string{p.People.Starters, p.People.Approvers, p.People.Releasers} {
		for i, who := range list {
			if !task.DescribesAccounts(list[i : i+1]) {
				list[i] = mux.Key(e.Board, who)
			}
		}
	}
	return "", nil
}

// placed adds the file and the line to what is wrong with an entry of a list.
func placed(name string, tree *ast.File, list string, entry int, field string, err error) error {
	err = fmt.Errorf("%s %d: %s: %w", strings.TrimSuffix(list, "s"), entry+1, field, err)
	return &yamlplace.Error{File: name, Line: yamlplace.Line(tree, list, entry, field), Err: err}
}
