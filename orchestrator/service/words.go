package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/follow"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// working says how far the agent of a task is: "developer: 14 files, $0.41".
func (s *Service) working(ctx context.Context, taskID int64) (string, error) {
	_, list, err := follow.Of(ctx, s.Engine, taskID, 0)
	if err != nil || len(list) == 0 || !list[0].Live {
		return "", err
	}
	p, err := s.watch.Progress(ctx, list[0])
	if err != nil || p.Files == 0 && p.Usage.MicroUSD == 0 {
		return "", err
	}
	return wordsProgress(list[0].Role, p), nil
}

// dress adds the forecast of a task to its live message, and what else may be said.
func (s *Service) dress(ctx context.Context, taskID int64, repo string, m *messenger.Message) error {
	t, err1 := s.Engine.Store.Task(ctx, taskID)
	list, err2 := s.lives.Forecasts(ctx, s.Engine, t)
	for _, f := range list {
		m.Lines = slices.Insert(m.Lines, 1, f.Text) // after where it stands
	}
	return errors.Join(err1, err2, s.words.Dress(ctx, taskID, repo, m))
}

func wordsProgress(role stage.Role, p follow.Progress) string {
	text := fmt.Sprintf("%s: %d files", role, p.Files)
	if p.Files == 1 {
		text = strings.TrimSuffix(text, "s")
	}
	if p.Usage.MicroUSD > 0 {
		text += ", " + task.CostOf(task.AgentRun{Usage: p.Usage}).Price()
	}
	return text
}
