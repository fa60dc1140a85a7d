package wiring

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
)

// strandedEvery is how often live tasks are compared with the registry.
const strandedEvery = 10 * time.Minute

// stranded remembers which live tasks belong to no registered repository.
type stranded struct {
	changed chan struct{} // the registry is another one

	mu   sync.Mutex
	list []orchestrator.Stranded
}

// warning is a part of readiness.
func (s *stranded) warning(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var texts []string
	for _, one := range s.list {
		texts = append(texts, one.String())
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

// lookStranded compares the live tasks with the registry, and notifies people once.
func (v *Service) lookStranded(ctx context.Context) error {
	list, err := v.Engine.Stranded(ctx)
	if err != nil {
		return err
	}
	v.stranded.mu.Lock()
	v.stranded.list = list
	v.stranded.mu.Unlock()
	for _, s := range list {
		v.Log.Error("live tasks belong to a repository that is not registered", "repo", s.Repo, "tasks", len(s.Tasks), "what", s.String())
	}
	return v.Engine.TellStranded(ctx, list)
}

func (v *Service) watchStranded(ctx context.Context) {
	for {
		v.persist(ctx, "compare live tasks with the registry", v.lookStranded, func(error) {})
		if (run.Real{}).Wait(ctx, time.Now().Add(strandedEvery), v.stranded.changed) != nil {
			return
		}
	}
}
