package agentcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// The output of an agent goes straight to a file: tools that end with a buffered
// pipe have lost their last words. While it runs the middle of a long file is
// given back to the file system (trim); afterwards the file is cut down to its
// first and its last half (shrink), and secrets in it are replaced.

// baseName begins the names of a run's files in the directory of its task.
func baseName(c work.Command) string {
	return fmt.Sprintf("%03d-%s-%d", c.Run, safe(string(c.Role)), c.Attempt)
}

// taskPrefix begins the name of a task's directory of logs.
const taskPrefix = "task-"

func taskDir(id int64) string { return fmt.Sprint(taskPrefix, id) }

// OpenLog implements work.Logs.
func (r *Runner) OpenLog(_ context.Context, n work.LogName) (io.ReadSeekCloser, error) {
	name := filepath.Join(r.opt.LogDir, taskDir(n.TaskID), baseName(work.Command{Role: n.Role, Run: n.Run, Attempt: n.Attempt})+".out")
	switch n.Stream {
	case work.StreamErrors:
		name = errLog(name)
	case work.StreamSteps:
		name = stepsLog(name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err // not the nil file in an interface
	}
	return r.opt.Hidden.Reader(f), nil
}

// tidy cuts the logs of a run that has ended to what is kept, and replaces secrets in them.
func (r *Runner) tidy(log string) error {
	if log == "" { // of a record that was never whole
		return nil
	}
	for _, name := range []string{log, errLog(log), stepsLog(log)} {
		if err := r.tidyOne(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (r *Runner) tidyOne(name string) error {
	if err := shrink(name, r.opt.LogMax); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(r.opt.Hidden.Rewrite(f), f.Close())
}

func errLog(log string) string { return strings.TrimSuffix(log, ".out") + ".err" }

// stepsLog has a work.Step in each line, but for the one that says what was cut out.
func stepsLog(log string) string { return strings.TrimSuffix(log, ".out") + ".steps" }

// noteMax bounds the note about a cut, in bytes.
const noteMax = 64

// half is how much of the head and of the tail is kept.
func half(limit int64) int64 { return max(1, (limit-noteMax)/2) }

// shrink rewrites a file that is longer than limit: its head, a note, its tail.
func shrink(name string, limit int64) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() <= limit {
		return err
	}
	keep := half(limit)
	out, err := os.OpenFile(name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, io.NewSectionReader(f, 0, keep)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "\n[%d bytes were cut out here]\n", info.Size()-2*keep); err != nil {
		return err
	}
	if _, err := io.Copy(out, io.NewSectionReader(f, info.Size()-keep, keep)); err != nil {
		return err
	}
	return os.Rename(out.Name(), name)
}
