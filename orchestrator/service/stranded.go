package service

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
)

// strandedEvery is how often live tasks are compared with the registry.
const strandedEvery = 10 * time.Minute

// stranded remembers which live tasks belong to no registered repository or board.
type stranded struct {
	changed chan struct{} // the registry is another one

	mu   sync.Mutex
	list []admin.Stranded
}

// warning is a part of readiness.
func (x *stranded) warning(context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var texts []string
	for _, one := range x.list {
		texts = append(texts, one.String())
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

// lookStranded compares the live tasks with the registry, and notifies people once.
func (s *Service) lookStranded(ctx context.Context) error {
	list, err := admin.FindStranded(ctx, s.Engine)
	if err != nil {
		return err
	}
	s.stranded.mu.Lock()
	s.stranded.list = list
	s.stranded.mu.Unlock()
	for _, one := range list {
		s.Log.Error("live tasks belong to a repository or board that is not registered",
			"repo", one.Repo, "tasks", len(one.Tasks), "what", one.String())
	}
	return admin.TellStranded(ctx, s.Engine, list)
}

func (s *Service) watchStranded(ctx context.Context) {
	for {
		s.persist(ctx, "compare live tasks with the registry", s.lookStranded, func(error) {})
		if (run.Real{}).Wait(ctx, time.Now().Add(strandedEvery), s.stranded.changed) != nil {
			return
		}
	}
}
