package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/mux"
)

// Finding is one line of an examination.
type Finding struct {
	Level Level  `json:"level"`
	What  string `json:"what"` // a part of the machine, or the prefix of a project
	Text  string `json:"text"` // what was found and, where it is wrong, what to do
}

// Level says what a finding means.
type Level string

// Levels.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn"
	LevelFail Level = "FAIL"
)

// Report takes the findings of an examination.
type Report func(Finding)

// ReportTo writes findings as lines.
func ReportTo(w io.Writer) Report {
	return func(f Finding) { fmt.Fprintf(w, "%-5s %-12s %s\n", f.Level, f.What, f.Text) }
}

// of takes findings about one thing.
func (r Report) of(what string) about { return about{r, what} }

// about reports what is found of one thing.
type about struct {
	to   Report
	what string
}

// OK reports what is as it should be.
func (a about) OK(format string, args ...any) {
	a.to(Finding{LevelOK, a.what, fmt.Sprintf(format, args...)})
}

// Warn reports what may be meant so.
func (a about) Warn(format string, args ...any) {
	a.to(Finding{LevelWarn, a.what, fmt.Sprintf(format, args...)})
}

// Bad reports what is wrong. The format may wrap an error, by %w.
func (a about) Bad(format string, args ...any) {
	a.to(Finding{LevelFail, a.what, fmt.Errorf(format, args...).Error()})
}

// Check reports what an error says, with how a person mends it, or else what is good; and whether there was none.
func (a about) Check(good, mend string, err error) bool {
	switch {
	case err == nil:
		a.OK("%s", good)
	case mend == "":
		a.Bad("%w", err)
	default:
		a.Bad("%w: %s", err, mend)
	}
	return err == nil
}

// Examination names what Doctor does besides looking.
type Examination struct {
	Fix   bool // makes columns and registers webhooks that are missing
	Probe bool // lets each agent do nothing, in a checkout of its own; that may cost something
	Card  bool // makes a card on each board, and takes it away
}

// doctor reports findings.
type doctor struct {
	Examination
	Report
}

// examineTime bounds an examination; each agent that is probed has as much again, and each board what a card takes there.
const examineTime = 2 * time.Minute

// Examine examines a deployment and reports what it finds: git, tokens, the board's columns, agents, secrets, disk. It
// returns how many things are wrong.
func Examine(ctx context.Context, v *Service, e Examination, report Report) (wrong int) {
	d := &doctor{e, func(f Finding) {
		if f.Level == LevelFail {
			wrong++
		}
		report(f)
	}}
	ctx, cancel := context.WithTimeout(ctx, examineTime+time.Duration(len(v.Projects.Boards()))*2*hookWait)
	defer cancel()
	version, err := v.Git.Version(ctx)
	d.of("git").Check("version "+version, "", err)
	d.of("database").Check(v.Settings.Database(), "", cmp.Or(v.checkFile(ctx), v.DB.Ping(ctx)))
	_, _, err = v.Leases.Holder(ctx, "doctor")
	d.of("leases").Check("can be read", "", err)
	if v.walls.loud != nil {
		d.of("jail").Warn("%v", v.walls.loud)
	} else {
		d.of("jail").OK("agents and checks are confined: %s", v.walls)
	}
	d.of("network").OK("%s", v.walls.egress(v.Settings))
	d.disk(v.Settings.DataDir)
	boards := d.boards(ctx, v)
	answers := d.hosts(ctx, v)
	if v.Chat != nil {
		v.Chat.Examine(ctx, d.tell)
	} else {
		for _, name := range v.Settings.kindsWith(func(k kind) bool { return k.chat != nil }) {
			d.of(name).Warn("is not set up: notices are only logged")
		}
	}
	if v.Settings.InsecureWebhooks {
		d.of("webhooks").Warn("unsigned ones are taken (ORCH_INSECURE_WEBHOOKS)")
	} else {
		d.of("webhooks").OK("secrets are set")
	}
	d.access(ctx, v)
	d.tracks(v)
	list, err := admin.FindStranded(ctx, v.Engine)
	if err != nil {
		d.of("registry").Bad("%w", err)
	}
	for _, s := range list {
		d.of("registry").Warn("%s", s)
	}
	for _, p := range v.Projects.All() {
		if p.Plain() {
			d.plain(ctx, v, p)
		} else if answers[p.HostName()] {
			d.hosted(ctx, v, p)
		}
	}
	for _, p := range v.Projects.Boards() {
		if look := boards[p.Board]; look != nil {
			d.project(ctx, v, p, look)
		}
	}
	for _, n := range v.near {
		if n.isBoard { // after what was registered, and what has come of a card
			d.boardHooks(ctx, v, n)
		}
	}
	d.agents(v)
	return wrong
}

// hosts examines how the service signs in to git hosts; those of whose answers can be believed are true, by name.
func (d *doctor) hosts(ctx context.Context, v *Service) map[string]bool {
	out := map[string]bool{}
	for _, n := range v.Settings.neighbours(v.opened.Neighbours) {
		if host := v.Hosts[n.Name]; host != nil && !n.isBoard {
			out[n.Name] = d.of(n.Name).Check(cmp.Or(n.accepted, "the token is accepted"),
				cmp.Or(n.mend, "make a token and set it as "+n.TokenEnv+": "+n.tokenPage(n)), host.Ping(ctx))
		} else if !n.isBoard {
			d.of(n.Name).OK("is not used: no repository is there")
		}
	}
	return out
}

// tell takes the findings of an adapter.
func (d *doctor) tell(level, what, text string) { d.Report(Finding{Level(level), what, text}) }

// look examines a project of a board, or adds to the error of one that cannot be read what mends it.
type look func(ctx context.Context, id, prefix string, unread error) error

// examiner is a board that examines itself. Levels are those of findings, as text; token and workspace are what people call their
// settings, and registry is the file of projects. What it returns is a look; nil when the board cannot be worked with.
type examiner interface {
	Examine(
		ctx context.Context, name, token, workspace, registry string, report func(level, what, text string),
	) func(ctx context.Context, id, prefix string, unread error) error
}

// boards examines the boards, and returns what examines projects of those that can be worked with, by name.
func (d *doctor) boards(ctx context.Context, v *Service) map[string]look {
	s, out := v.Settings, map[string]look{}
	no := func(_ context.Context, _, _ string, unread error) error { return unread }
	if v.Board != nil && d.of("board").Check("our own, at "+s.publicURL()+"/dashboard/", "", v.Board.Ping(ctx)) {
		out[""] = no
	}
	for _, n := range v.near {
		if !n.isBoard {
			continue
		}
		b := v.Boards[n.Name]
		if x, ok := b.(examiner); ok {
			out[n.Name] = x.Examine(ctx, n.source(), n.TokenEnv, n.workspaceName, s.Projects, d.tell)
		} else if d.of(n.source()).Check("the token is accepted", "make a token and set it as "+n.TokenEnv, b.Identify(ctx)) {
			out[n.Name] = no
		}
		if c, ok := b.(tracker.Budgeted); ok && s.Features.Reconcile && s.Features.ReadBoards && out[n.Name] != nil {
			limit, projects, of := c.Budgets()[0].Limit, 0, ""
			for _, p := range v.Projects.Boards() {
				if n.serves(p) {
					projects++
				}
			}
			if limit > 0 { // else it names none
				of = fmt.Sprintf(" of at least %d", limit) // what others have used of it does not show
			}
			idle := reconcile.IdleCost(projects, limit, s.Features.Reconciler.Every)
			d.of(n.source()).OK("idle cost is %.0f%s requests a minute, for each server with this token (%d boards)", idle, of, projects)
		}
	}
	return out
}

// boardHooks says what is known of the webhooks of a board, which does not show them.
func (d *doctor) boardHooks(ctx context.Context, v *Service, n neighbour) {
	address := "the address of this server and " + n.path
	if v.Settings.PublicURL != "" {
		address = v.Settings.publicURL() + n.path
	}
	switch last, err := v.DB.LastDelivery(ctx, n.source()); {
	case err != nil:
		d.of(n.source()).Bad("%w", err)
	case last.IsZero():
		d.of(n.source()).Warn("no webhook has come yet: make one"+n.hook(n)+"; without it boards are read every %s",
			address, v.Settings.Features.Reconciler.Every)
	default:
		d.of(n.source()).OK("the last webhook came at %s", last.UTC().Format("2006-01-02 15:04:05 MST"))
	}
}

// tracks says which sources may be collected from.
func (d *doctor) tracks(v *Service) {
	if v.Tracks == nil {
		d.of("tracks").Warn("are not served (ORCH_GPS_TRACKS_ENABLED)")
		return
	}
	for _, s := range v.Tracks.Sources {
		switch {
		case s.Enabled && s.Decision != "accepted":
			d.of("tracks").Warn("source %s is on, and its licence record is %s: it will be refused", s.Name, s.Decision)
		case s.Enabled:
			d.of("tracks").OK("source %s is on, and its licence record is accepted", s.Name)
		}
	}
}

// diskMin bounds the space that should be free in the data directory, in bytes.
const diskMin = 1 << 30

func (d *doctor) disk(dir string) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		d.of("disk").Bad("%w", err)
		return
	}
	free := s.Bavail * uint64(s.Bsize)
	if free < diskMin {
		d.of("disk").Bad("only %d MiB are free in %s", free>>20, dir)
		return
	}
	d.of("disk").OK("%d GiB are free in %s", free>>30, dir)
}

// project examines one entry of the registry: its board and its agents.
func (d *doctor) project(ctx context.Context, v *Service, p task.Project, look look) {
	a := d.of(p.Prefix)
	columns, err := v.Tracker.Columns(ctx, p.Sync())
	id := p.TrackerProject
	if err != nil {
		id = p.Sync()
	}
	if err = look(ctx, mux.ID(p.Board, id), p.Prefix, err); err != nil {
		a.Bad("the board's columns: %w", err)
		return
	}
	if d.Fix {
		columns = d.addColumns(ctx, v, p, columns)
	}
	if p.People.Described() {
		if _, err := v.Tracker.Person(ctx, p.TrackerProject, ""); err != nil && !errors.Is(err, tracker.ErrNotFound) {
			a.Bad("starters, approvers or releasers are named by e-mail address or role, "+
				"and the tracker does not describe its accounts: use ids, or a token of a member of the workspace "+
				"(with labels: of an administrator of the repository): %w", err)
		}
	}
	var missing []string
	for _, s := range stage.Statuses() {
		if _, ok := columns[s.Key]; !ok {
			missing = append(missing, s.Name)
		}
	}
	essential := func(s stage.Status) bool { _, ok := columns[s]; return ok }
	switch {
	case !essential(stage.StatusToAnalyse) || !essential(stage.StatusApproved) || !essential(stage.StatusInProgress):
		a.Bad("the board lacks %s: the pipeline cannot be used without them; "+
			"add columns of these names, or let signalbox doctor --fix do it", strings.Join(missing, ", "))
	case p.SelfHosting && !essential(stage.StatusConfirmDeploy):
		a.Bad("the board lacks Confirm Deploy: nothing can be deployed")
	case len(missing) > 0:
		a.Warn("the board has no column for %s; signalbox doctor --fix makes them", strings.Join(missing, ", "))
	default:
		a.OK("every board status has a column")
	}
	n, _ := v.neighbour(func(n neighbour) bool { return n.isBoard && n.serves(p) })
	if d.Fix {
		d.addBoardHook(ctx, v, p, n)
	}
	if d.Card {
		d.tryBoard(ctx, v, p, n)
	}
}

// Prepare makes the data directory.
func (s Settings) Prepare() error {
	dir, err := filepath.Abs(s.DataDir)
	if err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o700)
}
