package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
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

// Examination names what Doctor does besides looking.
type Examination struct {
	Fix   bool // makes columns and registers webhooks that are missing
	Probe bool // lets each agent do nothing, in a checkout of its own; that may cost something
}

// doctor writes findings and counts what is wrong.
type doctor struct {
	Examination
	report func(Finding)
	wrong  int
	tokens []plane.Token // of Plane, that were accepted
}

func (d *doctor) ok(what, format string, args ...any) {
	d.report(Finding{LevelOK, what, fmt.Sprintf(format, args...)})
}

func (d *doctor) warn(what, format string, args ...any) {
	d.report(Finding{LevelWarn, what, fmt.Sprintf(format, args...)})
}

func (d *doctor) bad(what string, err error) {
	d.wrong++
	d.report(Finding{LevelFail, what, err.Error()})
}

// check writes one finding, and reports whether it is a good one.
func (d *doctor) check(what, good string, err error) bool {
	if err != nil {
		d.bad(what, err)
		return false
	}
	d.ok(what, "%s", good)
	return true
}

// Write writes a finding as a line.
func (f Finding) Write(w io.Writer) {
	fmt.Fprintf(w, "%-5s %-12s %s\n", f.Level, f.What, f.Text)
}

// Doctor examines a deployment and says what it found: git, tokens, the board's
// columns, agents, secrets, disk. It reports how many things are wrong.
func Doctor(ctx context.Context, v *Service, w io.Writer) int {
	return Examine(ctx, v, Examination{}, func(f Finding) { f.Write(w) })
}

// examineTime bounds an examination; each agent that is probed has as much again.
const examineTime = 2 * time.Minute

// Examine is Doctor, with each finding as a value.
func Examine(ctx context.Context, v *Service, e Examination, report func(Finding)) int {
	d := &doctor{Examination: e, report: report}
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	version, err := v.Git.Version(ctx)
	d.check("git", "version "+version, err)
	d.check("database", v.Settings.Database(), v.DB.Ping(ctx))
	_, _, err = v.Leases.Holder(ctx, "doctor")
	d.check("leases", "can be read", err)
	if v.walls.loud != nil {
		d.warn("jail", "%v", v.walls.loud)
	} else {
		d.ok("jail", "agents and checks are confined: %s", v.walls)
	}
	d.ok("network", "%s", v.walls.egress(v.Settings))
	d.disk(v.Settings.DataDir)
	boards := d.trackers(ctx, v)
	answers := map[string]bool{} // what a host says can be believed
	for _, name := range slices.Sorted(maps.Keys(v.Hosts)) {
		a := v.access[name]
		good, how := "the token is accepted", "make a token and set it as "+a.tokenName+": "+a.tokenPage()
		if a.app != nil {
			good = "the app is accepted"
			how = "look whether " + Prefix + "GITHUB_APP_KEY is a private key of the app " + Prefix + "GITHUB_APP_ID, " +
				"and whether this machine's clock is right"
		}
		answers[name] = d.check(name, good, mend(v.Hosts[name].Ping(ctx), how))
	}
	if v.Hosts[task.HostGitHub] == nil {
		d.ok(task.HostGitHub, "is not used: no repository is there")
	}
	if v.Telegram != nil {
		d.telegram(ctx, v)
	} else {
		d.warn("telegram", "is not set up: notices are only logged")
	}
	if v.Settings.InsecureWebhooks {
		d.warn("webhooks", "unsigned ones are taken (ORCH_INSECURE_WEBHOOKS)")
	} else {
		d.ok("webhooks", "secrets are set")
	}
	d.access(ctx, v)
	d.tracks(v)
	list, err := admin.FindStranded(ctx, v.Engine)
	if err != nil {
		d.bad("registry", err)
	}
	for _, s := range list {
		d.warn("registry", "%s", s)
	}
	for _, p := range v.Projects.All() {
		if p.Plain() {
			d.plain(ctx, v, p)
		} else if answers[p.HostName()] {
			d.hosted(ctx, v, p)
		}
	}
	for _, p := range v.Projects.Boards() {
		if boards[p.Board] {
			d.project(ctx, v, p)
		}
	}
	d.agents(v)
	return d.wrong
}

// trackers examines the trackers; those that can be worked with are true, by name.
func (d *doctor) trackers(ctx context.Context, v *Service) map[string]bool {
	out := map[string]bool{}
	if v.Board != nil || v.Plane != nil {
		out[""] = d.tracker(ctx, v)
	}
	for _, b := range v.neighbours.Boards {
		token := cmp.Or(b.TokenEnv, v.access[b.Host].tokenName)
		out[b.Name] = d.check(b.Name, "the token is accepted", mend(v.Boards[b.Name].Identify(ctx), "make a token and set it as "+token))
		last, err := v.DB.LastDelivery(ctx, b.Name)
		switch {
		case err != nil:
			d.bad(b.Name, err)
		case last.IsZero():
			d.warn(b.Name, "no webhook has come yet: make one to /webhooks/%s of this server; without it boards are read every %s",
				b.Name, v.Settings.Features.Reconciler.Every)
		}
	}
	return out
}

// tracks says which sources may be collected from.
func (d *doctor) tracks(v *Service) {
	if v.Tracks == nil {
		d.warn("tracks", "are not served (ORCH_GPS_TRACKS_ENABLED)")
		return
	}
	for _, s := range v.Tracks.Sources {
		switch {
		case s.Enabled && s.Decision != "accepted":
			d.warn("tracks", "source %s is on, and its licence record is %s: it will be refused", s.Name, s.Decision)
		case s.Enabled:
			d.ok("tracks", "source %s is on, and its licence record is accepted", s.Name)
		}
	}
}

// diskMin bounds the space that should be free in the data directory, in bytes.
const diskMin = 1 << 30

func (d *doctor) disk(dir string) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		d.bad("disk", err)
		return
	}
	free := s.Bavail * uint64(s.Bsize)
	if free < diskMin {
		d.bad("disk", fmt.Errorf("only %d MiB are free in %s", free>>20, dir))
		return
	}
	d.ok("disk", "%d GiB are free in %s", free>>30, dir)
}

// project examines one entry of the registry: its board and its agents.
func (d *doctor) project(ctx context.Context, v *Service, p task.Project) {
	columns, err := v.Tracker.Columns(ctx, p.Sync())
	if err != nil {
		d.bad(p.Prefix, fmt.Errorf("the board's columns: %w%s", err, v.otherProjects(ctx, p.Sync())))
		return
	}
	if v.Plane != nil && p.Board == "" {
		d.planeProject(ctx, v, p)
	}
	if d.Fix {
		columns = d.addColumns(ctx, v, p, columns)
	}
	if p.People.Described() {
		if _, err := v.Tracker.Person(ctx, p.TrackerProject, ""); err != nil && !errors.Is(err, tracker.ErrNotFound) {
			d.bad(p.Prefix, fmt.Errorf("starters, approvers or releasers are named by e-mail address or role, "+
				"and the tracker does not describe its accounts: use ids, or a token of a member of the workspace "+
				"(with labels: of an administrator of the repository): %w", err))
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
		d.bad(p.Prefix, fmt.Errorf("the board lacks %s: the pipeline cannot be used without them; "+
			"add columns of these names, or let signalbox doctor --fix do it", strings.Join(missing, ", ")))
	case p.SelfHosting && !essential(stage.StatusConfirmDeploy):
		d.bad(p.Prefix, fmt.Errorf("the board lacks Confirm Deploy: nothing can be deployed"))
	case len(missing) > 0:
		d.warn(p.Prefix, "the board has no column for %s; signalbox doctor --fix makes them", strings.Join(missing, ", "))
	default:
		d.ok(p.Prefix, "every board status has a column")
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
