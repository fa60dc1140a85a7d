// Package setup writes what a deployment of signalbox begins with: the project registry and
// the file of settings. It reads what it can from the repository and from the APIs, and puts
// few questions.
//
// It may be run again and again: what is there is kept, shown and completed. Nothing is
// written before the last answer, and each file as a whole.
package setup

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/rehearse"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/proposal"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// Options are the answers that are given beforehand. Empty ones are read, taken from the
// defaults, or asked for.
type Options struct {
	Repo      string `help:"Repository, as owner/name; default: of its directory or address."`
	CloneURL  string `help:"Path or address for git; default: a bare copy of this repository, in the data directory." placeholder:"URL"`
	Main      string `help:"Branch that is merged into; default: the one that is checked out here, or the remote's."`
	Prefix    string `help:"Of cards, such as APP for APP-1; default: of the repository's name."`
	CI        string `name:"ci" help:"Command that tests a commit, such as 'make test'; default: none." placeholder:"COMMAND"`
	Agent     string `help:"A tool with a preset, a command, or rehearse, which costs nothing; default: the first tool that is installed."`
	Listen    string `help:"Address of the server; default: 127.0.0.1:8080." placeholder:"ADDRESS"`
	PublicURL string `help:"Address of the server as others reach it." placeholder:"URL"`

	Accounts

	In   io.Reader  `kong:"-"` // answers of a person; nil = nobody is there
	Out  io.Writer  `kong:"-"`
	Echo func(bool) `kong:"-"` // switches whether what is typed is shown; nil = it cannot be
}

// ErrStopped says that the questions ended before their answers: nothing was written.
var ErrStopped = errors.New("stopped at a question: nothing was written; run it again to go on")

// setup is one run.
type setup struct {
	Options
	lines   *bufio.Reader
	missing []string // what only a person can say, and nobody has
	env     envFile
	local   local // the repository of the working directory

	board, host *proposal.Account // that were chosen; nil: none
}

// Run makes what is missing in the working directory, and says what it has found and written.
// The environment has the settings of the EnvFile then.
func Run(ctx context.Context, o Options) error {
	s := &setup{Options: o}
	if o.In != nil {
		s.lines = bufio.NewReader(o.In)
	}
	if err := s.read(ctx); err != nil {
		return err
	}
	if err := errors.Join(s.accounts(ctx), s.lacking()); err != nil {
		return err
	}
	entry, err := s.entry(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(s.settings(ctx), s.lacking()); err != nil {
		return err
	}
	if err := s.write(ctx, entry); err != nil {
		return err
	}
	return app.UseEnvFile()
}

// lacking is the error of what is missing.
func (s *setup) lacking() error {
	if len(s.missing) == 0 {
		return nil
	}
	return fmt.Errorf("nobody is there to answer, and this is missing:\n  %s", strings.Join(s.missing, "\n  "))
}

// read looks at what is there.
func (s *setup) read(ctx context.Context) (err error) {
	if err := app.UseEnvFile(); err != nil {
		return err
	}
	if _, _, err := app.Given(os.Environ(), app.Prefix+"CONFIG"); err != nil {
		return err
	}
	if s.env, err = readEnv(); err != nil {
		return err
	}
	s.local, err = findLocal(ctx)
	return err
}

func (s *setup) Say(format string, args ...any) { fmt.Fprintf(s.Out, format+"\n", args...) }

// Ask is an answer: what was given, else what a person types, else the default. What has no
// default is needed: without a person it is noted as missing, under its flag.
func (s *setup) Ask(ctx context.Context, flag, given, question, otherwise string) (string, error) {
	switch {
	case given != "":
		return given, nil
	case s.lines == nil && otherwise == "":
		s.missing = append(s.missing, fmt.Sprintf("%s: %s", flag, question))
		return "", nil
	case s.lines == nil:
		return otherwise, nil
	}
	if otherwise != "" {
		question += " [" + otherwise + "]"
	}
	for {
		fmt.Fprintf(s.Out, "%s: ", question)
		line, err := s.line(ctx)
		if err != nil {
			return "", err
		}
		if answer := cmp.Or(strings.TrimSpace(line), otherwise); answer != "" {
			return answer, nil
		}
	}
}

// line reads the next line that a person types; ErrStopped when there is none, or ctx has ended.
// The reader of a terminal cannot be interrupted, and is left behind then.
func (s *setup) line(ctx context.Context) (string, error) {
	typed := make(chan string, 1)
	run.New(context.WithoutCancel(ctx), nil).Go("answer", func(context.Context) {
		defer close(typed)
		if line, err := s.lines.ReadString('\n'); err == nil {
			typed <- line
		}
	})
	select {
	case line, ok := <-typed:
		if ok {
			return line, nil
		}
	case <-ctx.Done():
	}
	return "", ErrStopped
}

// Take notes a setting that a flag gives, and returns what it is then. Where another value stands it says so, and where.
func (s *setup) Take(flag, name, given, why string) string {
	if stands := valueOf(name); given != "" && given != stands && s.env.has(name) {
		s.Say("%s: %s is %s: %s is not taken: change it here", s.env.placeOf(name), name, stands, flag)
	}
	s.env.add(name, given, why)
	return cmp.Or(valueOf(name), given)
}

// none is the answer that stands for nothing, where that is one.
const none = "none"

// settings completes the settings.
func (s *setup) settings(ctx context.Context) error {
	s.env.add("ORCH_TRACKER", "board", "cards that projects.yaml gives no board are on the service's own")
	agent := s.Agent
	if !s.env.has("ORCH_AGENT") {
		question := "Agent: " + strings.Join(agentcli.Tools(), ", ") + ", a command, or " + rehearse.Name + ", which costs nothing"
		tool, signedIn := agentcli.Installed()
		var err error
		if agent, err = s.Ask(ctx, "--agent", s.Agent, question, cmp.Or(tool, rehearse.Name)); err != nil {
			return err
		}
		if agent == tool && tool != "" && !signedIn {
			s.Say("nobody seems to be signed in at %s: start it once by hand, or set its vendor's key", tool)
		}
		if _, err := agentcli.Split(agent); err != nil {
			return fmt.Errorf("--agent: %w", err)
		}
	}
	s.Take("--agent", "ORCH_AGENT", agent, "of every role that projects.yaml gives none")
	if s.env.before == "" { // who is at work already goes on as before
		s.env.add("ORCH_EGRESS", "allow-list",
			"agents reach their vendor and what projects.yaml has as egress (package registries by itself); off: every host")
	}
	s.Take("--listen", "ORCH_LISTEN", s.Listen, "address of the server")
	s.Take("--public-url", "ORCH_PUBLIC_URL", s.PublicURL, "as others reach it")
	for _, at := range []*proposal.Account{s.board, s.host} {
		if at != nil {
			s.env.generate(at.Secret, at.Why)
		}
	}
	s.env.generate("ORCH_ADMIN_TOKEN", "the operator's token: sign in with it to change cards")
	return nil
}

// write writes what is new.
func (s *setup) write(ctx context.Context, entry *entry) error {
	if entry != nil {
		if _, err := entry.after(); err != nil { // before anything is made
			return err
		}
	}
	if err := s.local.exclude(s.Say); err != nil { // before there are secrets
		return err
	}
	if entry != nil && entry.copied {
		if err := s.local.copy(ctx, entry, s.Say); err != nil {
			return err
		}
	}
	if err := s.env.write(s.Say); err != nil || entry == nil {
		return err
	}
	return entry.write(s.Say)
}

// dataDir is where the service keeps its data.
func dataDir() string {
	return cmp.Or(valueOf(app.Prefix+"DATA_DIR"), "data")
}

// registry is the name of the project registry.
func registry() string {
	return cmp.Or(valueOf(app.Prefix+"PROJECTS"), "projects.yaml")
}

// absolute is a path as the service is to know it, whatever directory it runs in.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
