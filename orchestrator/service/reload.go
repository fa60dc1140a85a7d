package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// registryFile is a part of readiness.
func (s *Service) registryFile(context.Context) error {
	if wrong := s.wrong.Load(); wrong != nil && *wrong != nil {
		return fmt.Errorf("the project registry was changed and is not in force, because it is wrong: %w; correct it and reload it", *wrong)
	}
	return nil
}

// Reload reads the project registry again with Options.Reread, and works by it at once. When
// anything is wrong with it, the error says what, and the one before stays.
func (s *Service) Reload(ctx context.Context) (web.Reloaded, error) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	before := s.opt.Projects.Now()
	err := s.replaceRegistry(ctx)
	s.wrong.Store(&err)
	if err != nil {
		s.Log.Error("the project registry is wrong; the one before stays in force", "err", err)
		return web.Reloaded{}, err
	}
	now := s.opt.Projects.Now()
	out := web.Reloaded{Projects: len(now.All()), Added: lacking(before, now), Removed: lacking(now, before)}
	s.Log.Info("the project registry was read again", "projects", out.Projects, "added", out.Added, "removed", out.Removed)
	return out, nil
}

func (s *Service) replaceRegistry(ctx context.Context) error {
	if s.opt.Reread == nil {
		return errors.New("the project registry is read at the start alone; restart the program")
	}
	p, err := s.opt.Reread(ctx)
	if err == nil {
		err = s.Engine.Check(p)
	}
	if err != nil {
		return err
	}
	s.Engine.Replace(p)
	s.boards.reloaded()
	run.Hint(s.stranded.changed)
	return nil
}

// lacking are the repositories of one registry that another does not have; never nil.
func lacking(in, of *task.Projects) []string {
	out := []string{}
	for _, p := range of.All() {
		if _, ok := in.ByRepo(p.Repo); !ok {
			out = append(out, p.Repo)
		}
	}
	return out
}

// reloadBySignal reloads at each signal, until ctx ends.
func (s *Service) reloadBySignal(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.Reloads:
			_, _ = s.reload(ctx) // it has logged what is wrong
		}
	}
}
