//go:build linux

package agentcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Quiesce implements work.Agents.
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

// escape makes a directory's name safe in a pattern.
func escape(dir string) string {
	var out []byte
	for i := range len(dir) {
		if dir[i] == '*' || dir[i] == '?' || dir[i] == '[' || dir[i] == '\\' {
			out = append(out, '\\')
		}
		out = append(out, dir[i])
	}
	return string(out)
}

// sweep ends what is left of the run of a record, and removes the record.
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
	for _, file := range []string{name + ".new", name} {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// clear ends the run's processes, and its shim only then: as long as the shim
// lives, no orphan can get out of sight.
func (r *Runner) clear(ctx context.Context, rec record) error {
	others := func() []ident { return leftovers(rec) }
	shim := func() []ident { return alive(rec.Shim) }
	if n := len(others()); n > 0 {
		r.opt.Log.Warn("ending processes that a run has left", "task", rec.TaskID, "count", n)
	}
	if err := end(ctx, others, r.opt.TermGrace); err != nil {
		return err
	}
	if err := end(ctx, shim, leftoverGrace); err != nil {
		return err
	}
	return end(ctx, others, r.opt.TermGrace)
}
