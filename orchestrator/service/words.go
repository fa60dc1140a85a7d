package service

import (
	"context"
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
	t, err := s.Engine.Store.Task(ctx, taskID)
	if err != nil {
		return err
	}
	list, err := s.lives.Forecasts(ctx, s.Engine, t)
	if err != nil { // people are told all the same
		s.Log.Warn("a card cannot be forecast", "task", taskID, "repo", repo, "err", err)
	}
	for _, f := range list {
		m.Lines = slices.Insert(m.Lines, 1, f.Text) // after where it stands
	}
	return s.words.Dress(ctx, taskID, repo, m)
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
