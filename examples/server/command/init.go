package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/adapters/rehearse"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/setup"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

type initCmd struct {
	setup.Options
	Rehearse bool `default:"true" negatable:"" help:"Let one card go through every stage with an agent that costs nothing, and remove it."`
}

// unnamed says how the shell finds the program by its name, where it does not: go install calls it server.
func unnamed() string {
	self, err := os.Executable()
	if _, missing := exec.LookPath(program); missing == nil || err != nil {
		return ""
	}
	dir, steps := filepath.Dir(self), []string(nil)
	if filepath.Base(self) != program {
		steps = append(steps, "ln -s "+self+" "+filepath.Join(dir, program))
	}
	if !slices.Contains(filepath.SplitList(os.Getenv("PATH")), dir) {
		steps = append(steps, `export PATH="`+dir+`:$PATH"`)
	}
	return fmt.Sprintf("Your shell finds no %s yet: %s\n", program, strings.Join(steps, " && "))
}

// Run writes what a deployment begins with, examines it, and rehearses it.
func (c *initCmd) Run(s *streams) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	o := c.Options
	o.Out = s.out
	if before, err := unix.IoctlGetTermios(int(os.Stdin.Fd()), unix.TCGETS); err == nil {
		o.In, o.Echo = os.Stdin, func(on bool) {
			now := *before
			if !on {
				now.Lflag &^= unix.ECHO
			}
			_ = unix.IoctlSetTermios(int(os.Stdin.Fd()), unix.TCSETS, &now) // else it is seen
		}
	}
	if err := setup.Run(ctx, o); err != nil {
		return err
	}
	settings, err := load(s.kinds...)
	if err != nil {
		return err
	}
	fmt.Fprintln(s.out)
	if err := examine(ctx, settings, app.Examination{Fix: true, Card: c.Rehearse}, app.ReportTo(s.out)); err != nil {
		return fmt.Errorf("%w: mend it, and run %s init again", err, program)
	}
	registry, err := projectfile.Load(settings.Projects, settings.Kinds()...)
	if err != nil {
		return err
	}
	if c.Rehearse {
		fmt.Fprintln(s.out)
		if err := rehearseAll(ctx, settings, registry.Projects, s); err != nil {
			return err
		}
	}
	for _, click := range settings.Clicks() {
		fmt.Fprintf(s.out, "\n%s.\n", click)
	}
	fmt.Fprintf(s.out, "\nStart it here with: %s serve\n%s", program, unnamed())
	fmt.Fprintf(s.out, "Sign in at %s (its end is ORCH_ADMIN_TOKEN of %s)\n",
		signInLink(settings, settings.AdminToken.Reveal()), app.EnvFile)
	for _, p := range registry.Projects.All() {
		switch board, _ := registry.Neighbours.Board(p.Board); {
		case board.Kind == projectfile.KindLabels:
			fmt.Fprintf(s.out, "Cards are the issues of %s: label one status/To Analyse, and status/Approved when it is In Review; "+
				"see http://%s/dashboard/\n", p.Repo, settings.Listen)
		case p.Board == "" && settings.Tracker == "board":
			fmt.Fprintf(s.out, "Cards: http://%s/dashboard/; "+
				"drag one to To Analyse, and to Approved when it is In Review\n", settings.Listen)
		}
	}
	return nil
}

// examine is doctor.
func examine(ctx context.Context, settings app.Settings, e app.Examination, report app.Report) (err error) {
	service, err := app.Open(ctx, settings, itself(), settings.Logger(io.Discard))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	if wrong := app.Examine(ctx, service, e, report); wrong > 0 {
		return fmt.Errorf("%d things are wrong", wrong)
	}
	return nil
}

// rehearseAll rehearses each project.
func rehearseAll(ctx context.Context, settings app.Settings, projects *task.Projects, s *streams) error {
	for _, p := range projects.All() {
		r := app.Rehearsal{Settings: settings, Program: itself(), Repo: p.Repo, Out: s.out}
		if err := r.Run(ctx); err != nil {
			return fmt.Errorf("%s: %w", p.Repo, err)
		}
		fmt.Fprintf(s.out, "ok    rehearsal    a card of %s went through every stage, and nothing is left of it\n", p.Repo)
		if settings.Agent != rehearse.Name {
			fmt.Fprintf(s.out, "warn  rehearsal    its agent was one that costs nothing; "+
				"cards get %s: %s doctor --probe lets that run once\n", settings.Agent, program)
		}
	}
	return nil
}
