package agentcli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// grown is how many times longer than what is kept a log may get while it is written.
const grown = 8

// KeepLog implements work.LogKeeper. What is closed is cut, and secrets in it are
// replaced, as in the logs of agents.
func (r *Runner) KeepLog(_ context.Context, n work.LogName) (io.WriteCloser, error) {
	dir := filepath.Join(r.opt.LogDir, taskDir(n.TaskID))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return r.keep(filepath.Join(dir, baseName(work.Command{Role: n.Role, Run: n.Run, Attempt: n.Attempt})+".out"))
}

func (r *Runner) keep(name string) (io.WriteCloser, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &kept{f: f, left: grown * r.opt.LogMax, tidy: r.tidyOne}, nil
}

// kept is a log that is being written; what is too much of it is dropped.
type kept struct {
	f    *os.File
	left int64
	tidy func(name string) error
}

// Write implements io.Writer. It never fails, so that the printing process goes on.
func (k *kept) Write(p []byte) (int, error) {
	n := min(int64(len(p)), k.left)
	k.left -= n
	if _, err := k.f.Write(p[:n]); err != nil {
		k.left = 0 // of a disk that is full, nothing more is kept
	}
	return len(p), nil
}

func (k *kept) Close() error { return errors.Join(k.f.Close(), k.tidy(k.f.Name())) }
