package agentcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// outbox names the directory, within the task's, into which a run puts its report.
func outbox(c work.Command) string { return fmt.Sprintf("outbox-%d", c.Run) }

// giveOutbox makes the outbox of a run anew, empty: an earlier run of the task may have
// written there.
func (e *execution) giveOutbox(taskDir string) error {
	e.outbox = filepath.Join(taskDir, outbox(e.Command))
	if err := errors.Join(jail.RemoveTree(e.outbox), os.Mkdir(e.outbox, 0o700)); err != nil { // an agent may have closed it
		return err
	}
	if e.Report != "" {
		e.Prompt = strings.ReplaceAll(e.Prompt, work.ReportPath, e.reportPath())
	}
	return nil
}

func (e *execution) reportPath() string { return filepath.Join(e.outbox, filepath.Base(e.Report)) }

// Report implements work.Agents. No link is followed: what agents make may point
// anywhere.
func (r *Runner) Report(_ context.Context, c work.Command) (string, error) {
	root, err := os.OpenRoot(filepath.Join(r.opt.LogDir, taskDir(c.TaskID)))
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	box, name := outbox(c), filepath.Base(c.Report)
	info, err := root.Lstat(box)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("agentcli: the outbox of run %d is no directory any more", c.Run)
	}
	file, err := root.Lstat(box + "/" + name)
	if err != nil {
		return "", err
	}
	if !file.Mode().IsRegular() || file.Size() > work.ReportMax {
		return "", fmt.Errorf("agentcli: the report %s is to be a file of at most %d bytes", name, work.ReportMax)
	}
	f, err := root.OpenFile(box+"/"+name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was read only
	body, err := io.ReadAll(io.LimitReader(f, work.ReportMax))
	clean := r.opt.Hidden.Text(string(body))
	if err == nil && clean != string(body) {
		// Nobody else reads the file: that an agent has made it so that it cannot be changed is no failure.
		_ = root.WriteFile(box+"/"+name, []byte(clean), 0o600)
	}
	return clean, err
}
