package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/app"
)

// replayCmd decides journals again.
type replayCmd struct {
	Task *string `help:"Only this task: an id, or a work item such as GPX-42." placeholder:"ID|WORK-ITEM"`
	output
}

// Run decides every journal again. It changes nothing, and may run beside the server.
func (c replayCmd) Run(s *streams) error {
	task := ""
	if c.Task != nil {
		if task = strings.TrimSpace(*c.Task); task == "" {
			return errors.New("--task: is empty, want an id such as 7 or a work item such as GPX-42")
		}
	}
	settings, err := app.Load(app.Environ())
	if err != nil {
		return err
	}
	if err := settings.NeedsDatabase(); err != nil {
		return err
	}
	ctx := context.Background()
	service, err := app.Open(ctx, settings, itself(), settings.Logger(io.Discard))
	if err != nil {
		return err
	}
	defer service.Close()
	again, err := service.Replay(ctx, task)
	if err != nil {
		return err
	}
	err = c.print(s.out, again, func(w io.Writer) error { again.Print(w); return nil })
	if err == nil && again.Differing > 0 {
		err = fmt.Errorf("%d of %d journals are decided otherwise now", again.Differing, len(again.Tasks))
	}
	return err
}
