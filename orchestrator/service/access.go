package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// accessEvery is how often access to the neighbours is looked at: one repository and one board each time, and
// whatever is in doubt.
const accessEvery = time.Minute

// toldEvery bounds how often people are notified of the same, where it comes and goes.
const toldEvery = time.Hour

// wrongMax is after how many webhooks with a wrong signature, and none with a right one, all count as refused.
const wrongMax = 3

// marksMax bounds how much that is broken is listed.
const marksMax = 1000

// reach holds what was last found of the access to the neighbours.
type reach struct {
	mu    sync.Mutex
	found map[string]finding   // by what it is of
	wrong map[string]int       // webhooks with a wrong signature since the last right one, by source
	told  map[string]time.Time // when people were notified, by what it is of and what they do; the loop's own
	turn  int                  // of repositories and boards; the loop's own
}

// finding describes what is broken; it counts from the second look on.
type finding struct {
	repo     string // whose tasks it concerns; empty = all
	what, do string // what: empty = it works
	looks    int    // that have found so
}

// examiner describes repositories, as githost.Examiner does.
type examiner interface {
	Repository(ctx context.Context, repo string) (githost.Repository, error)
}

// note keeps what a look has found. What may pass says nothing.
func (a *reach) note(of string, f finding) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if before := a.found[of]; before.what != "" && f.what != "" {
		f.looks = before.looks
	}
	f.looks++
	a.found[of] = f
}

// signed counts webhooks by whether their signature was right.
func (a *reach) signed(source string, right bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.wrong[source]++; right {
		a.wrong[source] = 0
	}
}

// refused is an answer for good, in words; empty for anything else.
func refused(err error) string {
	if err == nil || fault.Retryable(err) || errors.Is(err, context.Canceled) {
		return ""
	}
	return fault.Words(err.Error())
}

// lookAtHost looks at a repository as doctor does.
func (s *Service) lookAtHost(ctx context.Context, host examiner, p task.Project) {
	r, err := host.Repository(ctx, p.Repo)
	f := finding{repo: p.Repo, what: refused(err), do: s.opt.Mend("host", p)}
	switch {
	case err != nil && f.what == "":
		return
	case err != nil:
		f.what = "the git host refuses the service at " + p.Repo + ": " + f.what
	case !r.Push || r.Archived:
		f.what = "the service may not push to " + p.Repo
	case !strings.EqualFold(r.Name, p.HostPath()):
		f.what = fmt.Sprintf("%s is called %s at its host now, and is reached by its former name", p.HostPath(), r.Name)
		f.do = fmt.Sprintf("Write path: %s into the entry of %s in projects.yaml, and run signalbox reload", r.Name, p.Repo)
	}
	s.reach.note("host/"+p.Repo, f)
}

// lookAtBoard lists what has just changed on a board: columns are remembered by adapters.
func (s *Service) lookAtBoard(ctx context.Context, p task.Project) {
	_, err := s.opt.Tracker.List(ctx, tracker.Query{ProjectID: p.TrackerProject, Since: time.Now()})
	f := finding{repo: p.Repo, what: refused(err), do: s.opt.Mend("board", p)}
	if err != nil && f.what == "" {
		return
	}
	if err != nil {
		f.what = fmt.Sprintf("the tracker refuses the service at the board of %s: %s", p.Prefix, f.what)
	}
	s.reach.note("board/"+p.TrackerProject, f)
}

// lookAtAccess looks at one repository and one board, and at those in doubt, and tells people once of what is broken.
func (s *Service) lookAtAccess(ctx context.Context) error {
	all := slices.DeleteFunc(slices.Clone(s.opt.Projects.All()), task.Project.Plain)
	host, examines := s.opt.Host.(examiner)
	s.reach.mu.Lock()
	doubts, wrong := maps.Clone(s.reach.found), maps.Clone(s.reach.wrong)
	s.reach.mu.Unlock()
	s.reach.turn++
	for i, p := range all {
		if examines && (i == s.reach.turn%len(all) || doubts["host/"+p.Repo].what != "") {
			s.lookAtHost(ctx, host, p)
		}
	}
	boards := s.opt.Projects.Boards()
	for i, p := range boards {
		if i == s.reach.turn%len(boards) || doubts["board/"+p.TrackerProject].what != "" {
			s.lookAtBoard(ctx, p)
		}
	}
	for source, n := range wrong {
		f := finding{do: s.opt.Mend("webhooks", task.Project{Host: source})}
		if n >= wrongMax {
			f.what = fmt.Sprintf("every webhook of %s is refused (%d since the last good one): its signature is wrong", source, n)
		}
		s.reach.note("webhooks/"+source, f)
	}
	s.reach.mu.Lock()
	maps.DeleteFunc(s.reach.wrong, func(_ string, n int) bool { return n == 0 })
	s.reach.mu.Unlock()
	return s.tellAccess(ctx)
}

// tellAccess keeps a mark of all that is broken, which readiness and explanations read, and notifies
// people of what has none.
func (s *Service) tellAccess(ctx context.Context) error {
	stored, err := s.marks(ctx)
	if err != nil {
		return err
	}
	s.reach.mu.Lock()
	found := maps.Clone(s.reach.found)
	s.reach.mu.Unlock()
	var c task.Commit
	for _, of := range slices.Sorted(maps.Keys(found)) {
		f := found[of]
		if _, is := s.opt.Projects.ByRepo(f.repo); !is && f.repo != "" {
			f.what = ""
		}
		mark := task.Fact{Kind: orchestrator.FactAccess, Of: cmp.Or(f.repo, "*") + "/" + of, Text: f.what + "\n" + f.do}
		known := slices.ContainsFunc(stored, mark.Is)
		switch {
		case f.what == "" && known:
			s.Log.Info("access to a neighbour works again", "what", of)
			c.Over = append(c.Over, mark)
		case f.what != "" && !known && f.looks > 1:
			s.Log.Error("access to a neighbour is broken", "what", f.what, "do", f.do)
			c.Facts = append(c.Facts, mark)
			if time.Since(s.reach.told[of+f.do]) < toldEvery {
				continue
			}
			s.reach.told[of+f.do] = time.Now()
			notice := stage.Effect{Kind: stage.EffectNotify, Text: f.what + ". " + f.do}
			key := fmt.Sprintf("%s/%s/%d", mark.Kind, mark.Of, time.Now().Unix())
			c.Jobs = append(c.Jobs, orchestrator.EffectJob(task.Task{Title: "Access is refused"}, task.Project{Repo: f.repo}, notice, key))
		}
	}
	if len(c.Facts)+len(c.Over) == 0 {
		return nil
	}
	return s.Engine.Store.Commit(ctx, c)
}

// marks are those of what is broken, of all servers.
func (s *Service) marks(ctx context.Context) ([]task.Fact, error) {
	return s.Engine.Store.Facts(ctx, task.Fact{Kind: orchestrator.FactAccess}, marksMax)
}

// broken is a part of readiness.
func (s *Service) broken(ctx context.Context) error {
	stored, err := s.marks(ctx)
	var all []error
	for _, f := range stored {
		all = append(all, errors.New(strings.Replace(f.Text, "\n", ". ", 1)))
	}
	return errors.Join(append(all, err)...)
}

func (s *Service) watchAccess(ctx context.Context) {
	for run.Sleep(ctx, run.Real{}, cmp.Or(s.opt.Features.Reconciler.Every, accessEvery)) == nil {
		if err := s.lookAtAccess(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("access to the neighbours could not be looked at", "err", err)
		}
	}
}
