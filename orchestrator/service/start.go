package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// longestWait bounds the wait between two tries of what belongs to the start.
const longestWait = 30 * time.Second

// persist does something until it succeeds, whatever it fails with, or until ctx
// ends; a moment that an error names is waited for. tried gets each result; a failure is logged when it is a new one.
func (s *Service) persist(ctx context.Context, what string, do func(context.Context) error, tried func(error)) {
	last := ""
	for wait := longestWait / 128; ; wait = min(2*wait, longestWait) {
		var err error
		if panicked := run.Guard(what, func() { err = do(ctx) }); panicked != nil {
			err = panicked
		}
		tried(err)
		if err == nil || ctx.Err() != nil {
			return
		}
		if err.Error() != last {
			last = err.Error()
			s.Log.Warn("a part of the start is tried again", "what", what, "err", err)
		}
		if run.Sleep(ctx, run.Real{}, max(wait, min(fault.After(err), time.Hour))) != nil {
			return
		}
	}
}

// identity holds what readiness says of which accounts are ours.
type identity struct {
	mu    sync.Mutex
	since time.Time // of the wait for it
	err   error     // of the last try
	known bool
}

func (i *identity) tried(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.err, i.known = err, err == nil
}

// missing describes what has not come.
func (i *identity) missing() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.known {
		return nil
	}
	err := i.err
	if err == nil {
		err = errors.New("no answer yet")
	}
	return fmt.Errorf("has not said who we are since %s: %w", i.since.UTC().Format(time.RFC3339), err)
}

// identify reads which accounts are ours, of each tracker by itself. Until that is known
// its webhooks are kept and not acted upon: our own changes could be taken for people's.
func (s *Service) identify(g *run.Group) {
	for name, read := range s.opt.Identify {
		one := s.identities[name]
		g.Go("identify", func(ctx context.Context) {
			s.persist(ctx, strings.TrimSpace("identify at the tracker "+name), read, one.tried)
			if one.missing() == nil {
				s.Log.Info("the tracker has said who we are", "tracker", name)
			}
		})
	}
}

// unidentified is a part of readiness.
func (s *Service) unidentified(context.Context) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.identities)) {
		if err := s.identities[name].missing(); err != nil {
			errs = append(errs, fmt.Errorf("%s %w", strings.TrimSpace("the tracker "+name), err))
		}
	}
	return errors.Join(errs...)
}

// boards reads columns for all parts of the service, and remembers which projects have
// none where a card could begin.
type boards struct {
	tracker.Board
	projects *task.Projects
	log      *slog.Logger
	changed  chan struct{} // the registry is another one

	mu      sync.Mutex
	seen    map[string]map[stage.Status]string // by tracker project, as of the last reading
	lacking map[string]string                  // what is wrong, by tracker project, as of the last reading
}

func newBoards(of tracker.Board, projects *task.Projects, log *slog.Logger) *boards {
	return &boards{
		Board: of, projects: projects, log: log, changed: make(chan struct{}, 1),
		lacking: map[string]string{}, seen: map[string]map[stage.Status]string{},
	}
}

// Columns implements tracker.Board. A board that cannot be read stays what it was.
func (b *boards) Columns(ctx context.Context, projectID string) (map[stage.Status]string, error) {
	columns, err := b.Board.Columns(ctx, projectID)
	if p, ok := b.projects.ByTracker(projectID); ok && err == nil {
		b.note(p, columns)
	}
	return columns, err
}

func (b *boards) note(p task.Project, columns map[stage.Status]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen[p.TrackerProject] = columns
	_, has := columns[stage.StatusToAnalyse]
	_, lacked := b.lacking[p.TrackerProject]
	begin, _ := stage.StatusNamed(stage.StatusToAnalyse)
	switch {
	case has && lacked:
		delete(b.lacking, p.TrackerProject)
		b.log.Info("the board has the column now", "column", begin.Name, "prefix", p.Prefix, "repo", p.Repo)
	case !has && !lacked:
		lack := fmt.Sprintf("the board of %s (%s, tracker project %s) has no column %s, so no card can begin there: "+
			"add a column of that name to it", p.Prefix, p.Repo, p.TrackerProject, begin.Name)
		b.lacking[p.TrackerProject] = lack
		b.log.Error("a board has no column where a card can begin",
			"missing", begin.Name, "prefix", p.Prefix, "repo", p.Repo, "err", lack)
	}
}

// known returns the columns of a board at the last reading.
func (b *boards) known(trackerProject string) (columns map[stage.Status]string, seen bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	columns, seen = b.seen[trackerProject]
	return columns, seen
}

// incomplete is a part of readiness.
func (b *boards) incomplete(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.lacking) == 0 {
		return nil
	}
	return errors.New(strings.Join(slices.Sorted(maps.Values(b.lacking)), "; "))
}

// reloaded forgets boards that are not registered any more, and has watch look at once.
func (b *boards) reloaded() {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.lacking, func(id, _ string) bool { _, ok := b.projects.ByTracker(id); return !ok })
	run.Hint(b.changed)
}

// watch looks at every board at the start, by another registry and each hour, and sooner
// again at one that cannot be read. What the reconciler reads meanwhile counts as well.
func (b *boards) watch(ctx context.Context) {
	for wait := time.Duration(0); (run.Real{}).Wait(ctx, time.Now().Add(wait), b.changed) == nil; {
		wait = time.Hour
		for _, p := range b.projects.Boards() {
			if _, err := b.Columns(ctx, p.TrackerProject); err != nil && ctx.Err() == nil {
				wait = 5 * time.Minute
				b.log.Warn("the columns of a board cannot be read", "prefix", p.Prefix, "repo", p.Repo, "err", err)
			}
		}
	}
}
