package agentcli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Marks are the records of runs that have not been cleared away. To remove one ends
// whatever is left of the task's runs.
func (r *Runner) Marks() work.Disk {
	return disk{dir: r.opt.StateDir, task: func(name string) (string, bool) {
		id, _, ok := strings.Cut(name, ".")
		return id, ok
	}, remove: func(ctx context.Context, name string, task int64) error {
		if err := r.Quiesce(ctx, task); err != nil {
			return err
		}
		return os.RemoveAll(name) // one that was half written
	}}
}

// LogDisk are the directories of tasks with what their agents have printed.
func (r *Runner) LogDisk() work.Disk {
	return disk{
		dir:    r.opt.LogDir,
		task:   func(name string) (string, bool) { return strings.CutPrefix(name, taskPrefix) },
		remove: func(_ context.Context, name string, _ int64) error { return jail.RemoveTree(name) },
	}
}

// disk is a directory whose entries are named after tasks.
type disk struct {
	dir    string
	task   func(name string) (id string, ok bool)
	remove func(ctx context.Context, name string, task int64) error
}

func (d disk) Remains(context.Context) (out []work.Remains, err error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, fmt.Errorf("agentcli: %w", err)
	}
	for _, e := range entries {
		text, ok := d.task(e.Name())
		id, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil { // not made by us
			continue
		}
		if used := usedAt(filepath.Join(d.dir, e.Name())); !used.IsZero() {
			out = append(out, work.Remains{Task: id, Name: e.Name(), Used: used})
		}
	}
	return out, nil
}

func (d disk) Remove(ctx context.Context, r work.Remains) error {
	name := filepath.Join(d.dir, filepath.Base(r.Name))
	if !usedAt(name).Equal(r.Used) {
		return nil
	}
	return d.remove(ctx, name, r.Task)
}

// usedAt is when a file, or a file in a directory, was written last; zero when there is none.
func usedAt(name string) (last time.Time) {
	names, _ := filepath.Glob(filepath.Join(escape(name), "*")) // of a file there are none
	for _, at := range append(names, name) {
		if info, err := os.Lstat(at); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}
