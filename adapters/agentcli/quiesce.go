//go:build linux

package agentcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Quiesce implements work.Agents: it ends what a dead service and a dead shim have left of a task. It
// finds processes by the shim's record, by a mark in their environment and by their working directory; not
// one that dropped the mark, left the directory and lost its shim within the second between two looks of the shim.
func (r *Runner) Quiesce(ctx context.Context, taskID int64) error {
	names, err := filepath.Glob(filepath.Join(escape(r.opt.StateDir), fmt.Sprintf("%d.*.json", taskID)))
	if err != nil {
		return fmt.Errorf("agentcli: %w", err)
	}
	for _, name := range names {
		if err := r.sweep(ctx, name); err != nil {
			return fmt.Errorf("agentcli: task %d: %w", taskID, err)
		}
	}
	return nil
}

// sweep ends what is left of the run of a record, cuts its logs and replaces secrets in
// them, and removes its HOME and the record.
func (r *Runner) sweep(ctx context.Context, name string) error {
	rec, err := readRecord(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil || rec.Token == "":
		r.opt.Log.Warn("a record of a run cannot be read", "file", name, "err", err) // nothing was started before it was whole
	case rec.Boot == bootID(): // else the machine was started anew since
		if err := r.clear(ctx, rec); err != nil {
			return err
		}
	}
	r.takeSession(rec, r.homeOf(name))
	if err := errors.Join(jail.RemoveTree(r.homeOf(name)), r.tidy(rec.Log)); err != nil {
		return err
	}
	for _, file := range []string{name + ".new", name} {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// clear ends the run's processes. The shim does that best: as long as it lives
// no orphan can get out of sight, and it ends only when there is none left.
// Only a shim that does not end in time is ended after what it looks after.
func (r *Runner) clear(ctx context.Context, rec record) error {
	others := func() ([]ident, bool) { return leftovers(rec) }
	shim := func() ([]ident, bool) { return alive(rec.Shim), true }
	if left, _ := others(); len(left) > 0 {
		r.opt.Log.Warn("ending processes that a run has left", "task", rec.TaskID, "count", len(left))
	}
	if err := r.requestQuiesce(ctx, rec.Shim); err != nil {
		return err
	}
	// A container is its engine's to end: without the processes that look after it there it
	// takes longer.
	if err := jail.Clear(ctx, work.Jail{Box: rec.Jail.Box}, rec.name()); err != nil {
		return err
	}
	if err := end(ctx, others, r.opt.TermGrace); err != nil {
		return err
	}
	if err := end(ctx, shim, leftoverGrace); err != nil {
		return err
	}
	// Behind the shim: what comes after that it could not have started.
	if err := jail.Clear(ctx, rec.Jail, rec.name()); err != nil {
		return err
	}
	return end(ctx, others, r.opt.TermGrace)
}

// requestQuiesce signals a shim to stop and waits for its end, for as long as it should need.
func (r *Runner) requestQuiesce(ctx context.Context, shim ident) error {
	signal(shim, syscall.SIGTERM)
	for until := time.Now().Add(r.opt.TermGrace + leftoverGrace); ctx.Err() == nil && len(alive(shim)) > 0 && time.Now().Before(until); {
		_ = run.Sleep(ctx, run.Real{}, lookSoon)
	}
	return ctx.Err()
}
