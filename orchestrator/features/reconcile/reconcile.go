// Package reconcile finds what was lost. It looks at tasks that stand still and
// at boards that have moved, and raises the events that nobody has sent: the
// normal handlers then do the rest.
//
//	F-1  a task without a job, untouched for longer than its stage's grace, whose
//	     gate is green: it goes on. Red is silent. Analysis waits for a person.
//	F-2  a work item in a trigger status that the service has neither acted on
//	     nor set: the webhook was lost, and is replayed. What has changed is listed
//	     in each pass, everything once an hour; many boards take turns where the
//	     tracker limits requests.
//
// A column that was set, and that the board does not show once its task waits or has ended, is set again,
// unless a person has moved the card; a person's word that such a write has replaced is heard by the tracker's log.
//
// Commits that others have pushed to the branch of a task are raised, where no webhook has told of them.
//
// A card that is gone from a board while its task lives is noticed by the same listings: the task is held
// until it is back.
//
// (F-3, the only task at development for a CI result without a branch, is the
// engine's own.)
//
// It never raises, and it concludes nothing from what it could not read. An event that is
// stored is not lost, however long it waits to be worked off. When a large part of a board
// would change at once it stops, and notifies people of it once.
//
// When boards move again and again and no webhook comes, people are notified once, and
// once more when webhooks come again.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Options of the feature. Tracker may be nil: then only F-1 is done.
type Options struct {
	Tracker tracker.Tracker // how many boards a pass looks at follows from its tracker.Budgeted
	Board   tracker.Board   // returns which column serves a status; required with Tracker
	Every   time.Duration   `env:"RECONCILE_INTERVAL" envDefault:"60s" doc:"how often the reconciler looks"`
	Grace   graces          `env:"RECONCILE_GRACE" envDefault:"development:10m" doc:"how long a stage may stand still, as stage:duration,…; others 5 min"`
	// Brake is how many work items of one project may be replayed in one pass.
	// More, when they are more than a quarter of those that stand in a status by which a person
	// requests something, are taken for a misunderstanding, and none is. Default 20.
	Brake   int          `envDefault:"20"`
	Sources []string     // of the boards' webhooks, as deliveries have them; none: boards send none, and none are missed
	Log     *slog.Logger // nil discards
	Now     func() time.Time

	AfterDone bool // To Analyse on the card of a task that is done begins another
}

// Reconciler is the feature with what it has seen.
type Reconciler struct {
	opt Options

	mu    sync.Mutex
	views map[string]view // of boards, by tracker project
	at    int             // the board whose turn it is

	state state
	heard time.Time       // when the newest webhook came, as of the last pass
	moves map[string]bool // that were found since then

	looked map[string]time.Time // when the branches of a repository were listed last
	pulls  map[int64]time.Time  // when the pull request of a held task was read
	raised map[int64]string     // the head of a task's branch that was raised last
	again  bool                 // a pass has followed the one that has found the first of them
}

// state holds what /queue shows and readiness reads.
type state struct {
	LastPass time.Time `json:"last_pass,omitzero"`
	Passes   int64     `json:"passes"`
	Advanced int64     `json:"advanced"` // F-1
	Replayed int64     `json:"replayed"` // F-2
	// Missed counts the moves since the last webhook that no webhook has reported.
	Missed int `json:"missed_since_webhook"`
	// Silent is since when webhooks count as stopped and people are notified of it.
	Silent time.Time `json:"webhooks_stopped,omitzero"`
	Braked string    `json:"braked,omitempty"`
	Error  string    `json:"error,omitempty"` // of the last pass
}

// graces are spans by stage.
type graces map[stage.Stage]time.Duration

// UnmarshalText reads stage:duration pairs.
func (g *graces) UnmarshalText(text []byte) error {
	*g = graces{}
	for pair := range strings.SplitSeq(string(text), ",") {
		name, span, _ := strings.Cut(strings.TrimSpace(pair), ":")
		d, err := time.ParseDuration(span)
		if name == "" || err != nil || d <= 0 {
			return fmt.Errorf("%q, want stage:duration such as development:10m", pair)
		}
		(*g)[stage.Stage(name)] = d
	}
	return nil
}

// New checks the options.
func New(o Options) (*Reconciler, error) {
	if o.Tracker != nil && o.Board == nil {
		return nil, errors.New("reconcile: Options.Board is required with Tracker")
	}
	defaults.Fill(&o)
	return &Reconciler{
		opt: o, moves: map[string]bool{}, views: map[string]view{}, looked: map[string]time.Time{},
		raised: map[int64]string{}, pulls: map[int64]time.Time{},
	}, nil
}

// Feature is the reconciler for the engine.
func (r *Reconciler) Feature() orchestrator.Feature {
	return orchestrator.Feature{
		Name:     "reconcile",
		Pipeline: withEdges, Rules: []stage.Rule{unblocked},
		Loops: []orchestrator.Loop{{Name: "loop", Run: r.loop}},
		Show:  func(context.Context) (any, error) { return r.show(), nil },
	}
}

func (r *Reconciler) show() any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return struct {
		Enabled bool `json:"enabled"`
		Tracker bool `json:"tracker"`
		state
	}{true, r.opt.Tracker != nil, r.state}
}

// withEdges adds the gates that lead on from the stages, judged without a finished agent.
func withEdges(p stage.Pipeline) stage.Pipeline {
	var out []stage.Edge
	for _, e := range p.Edges {
		known := slices.ContainsFunc(out, func(o stage.Edge) bool { return o.From == e.From })
		if known || e.Do != stage.DoEnter || e.On != stage.OnAgentFinished || len(e.Gates) == 0 {
			continue
		}
		e.On, e.Red, e.Why = stage.OnReconcile, stage.RedSilent, "the reconciler found the gate green"
		if e.When != stage.WhenRelease {
			e.When = stage.WhenIdle
		}
		out = append(out, e)
	}
	p.Edges = append(p.Edges, out...)
	return p
}

// unblocked notifies people of a task that goes on by itself.
func unblocked(s stage.State, e stage.Event, d stage.Decision) stage.Decision {
	if e.On == stage.OnReconcile && d.Moved {
		text := fmt.Sprintf("unblocked: %s is green now; the task goes on to %s", s.Stage, d.State.Stage)
		d.Effects = append(slices.Clip(d.Effects), stage.Effect{Kind: stage.EffectNotify, Text: text})
	}
	return d
}

// loop makes a pass now and then.
func (r *Reconciler) loop(ctx context.Context, e *orchestrator.Engine) {
	for e.Wait(ctx, r.opt.Every) == nil {
		var err error
		if panicked := run.Guard("reconcile", func() { err = r.Pass(ctx, e) }); panicked != nil {
			err = panicked
		}
		if err != nil && ctx.Err() == nil {
			r.opt.Log.Error("the reconciler could not look everywhere", "err", err)
		}
	}
}

// Pass looks once at all tasks and boards. One is made at a time.
func (r *Reconciler) Pass(ctx context.Context, e *orchestrator.Engine) error {
	versions, advanced, err1 := r.tasks(ctx, e)
	replayed, lost, braked, err2 := r.boards(ctx, e, versions)
	if len(r.opt.Sources) == 0 {
		lost = nil
	}
	silent, err3 := r.listen(ctx, e, lost)
	err := errors.Join(err1, err2, err3)
	e.Metrics.Reconciled.Add(float64(advanced), "advanced")
	e.Metrics.Reconciled.Add(float64(replayed), "replayed")
	if err == nil {
		e.Metrics.ReconciledAt.Set(float64(r.opt.Now().Unix()))
	}
	r.passed(func(s *state) {
		s.Advanced, s.Replayed, s.Braked, s.Error = s.Advanced+int64(advanced), s.Replayed+int64(replayed), braked, ""
		if err3 == nil {
			s.Silent = silent
		}
		if err != nil {
			s.Error = err.Error()
		}
	})
	return err
}

// passed notes the result of a pass.
func (r *Reconciler) passed(note func(*state)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.LastPass, r.state.Passes = r.opt.Now(), r.state.Passes+1
	note(&r.state)
}

func (r *Reconciler) grace(s stage.Stage) time.Duration {
	if d := r.opt.Grace[s]; d > 0 {
		return d
	}
	if s == stage.Development {
		return 10 * time.Minute
	}
	return 5 * time.Minute
}

// tasks is F-1, and raises what others have pushed. It returns the versions of live tasks, by work item.
func (r *Reconciler) tasks(ctx context.Context, e *orchestrator.Engine) (versions map[string]int64, advanced int, err error) {
	versions = map[string]int64{}
	seen := heads{}
	for t, failed := range task.Each(ctx, e.Store, task.Filter{Live: true}) {
		if failed != nil {
			return versions, advanced, errors.Join(err, failed)
		}
		versions[t.TrackerIssueID] = t.Version
		ok, failed := r.advance(ctx, e, t)
		if err = errors.Join(err, failed, r.pushed(ctx, e, t, seen)); ok {
			advanced++
		}
	}
	return versions, advanced, err
}

// advance raises the event of a task that stands still though its gate is green.
func (r *Reconciler) advance(ctx context.Context, e *orchestrator.Engine, t task.Task) (bool, error) {
	s := t.State
	waits := s.Hold != stage.HoldNone && s.Hold != stage.HoldBlocked || s.Refused != ""
	if s.Stage == stage.Analysis || s.Active != "" || waits || r.opt.Now().Sub(t.UpdatedAt) < r.grace(s.Stage) {
		return false, nil
	}
	green, err := e.Green(ctx, t, stage.OnReconcile)
	if err != nil || !green {
		return false, err
	}
	r.opt.Log.Info("a task that stood still goes on",
		"task", t.ID, "work_item", t.WorkItemID, "repo", t.Repo, "stage", s.Stage, "blocked", s.Hold == stage.HoldBlocked)
	return true, e.Raise(ctx, t, stage.Event{On: stage.OnReconcile, At: r.opt.Now()}, fmt.Sprintf("reconcile/%d/%d", t.ID, s.Seq))
}
