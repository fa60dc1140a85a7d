package agentcli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// homeOf is where the HOME and the TMPDIR of the execution of a record are; empty when
// agents have the service's own. The directory itself is not the agent's to write, so that
// neither of the two can become a link.
func (r *Runner) homeOf(record string) string {
	if r.opt.HomeDir == "" {
		return ""
	}
	return filepath.Join(r.opt.HomeDir, strings.TrimSuffix(filepath.Base(record), ".json"))
}

// homeFileMax is how much a file may hold that is copied into a HOME, in bytes.
const homeFileMax = 4 << 20

// giveHome makes the HOME of an execution anew: nothing that an earlier one has left
// there, settings and hooks of tools say, is in this one's way.
func (r *Runner) giveHome(e execution) error {
	if e.home == "" {
		return nil
	}
	if err := jail.RemoveTree(e.home); err != nil {
		return err
	}
	home := filepath.Join(e.home, "home")
	if err := errors.Join(os.MkdirAll(home, 0o700), os.Mkdir(filepath.Join(e.home, "tmp"), 0o700)); err != nil {
		return err
	}
	for name, body := range e.files {
		if err := put(filepath.Join(home, name), []byte(body)); err != nil {
			return err
		}
	}
	own, err := os.UserHomeDir()
	if err != nil {
		return nil //nolint:nilerr // there is none to copy from
	}
	copied := r.opt.HomeFiles
	if e.files == nil {
		copied = slices.Concat(e.preset.Home, copied)
	}
	for _, name := range copied {
		if err := copyFile(filepath.Join(own, name), filepath.Join(home, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("the agent's HOME: %w", err)
		}
	}
	return nil
}

// copyFile copies a file, and makes the directories that it lies in.
func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > homeFileMax {
		return fmt.Errorf("%s is to be a file of at most %d bytes", from, homeFileMax)
	}
	body, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return put(to, body)
}

// put writes a file, and makes the directories that it lies in.
func put(name string, body []byte) error {
	return errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, body, 0o600))
}

// jail returns what an execution may touch; nil when agents are not confined.
func (r *Runner) jail(e execution) *work.Jail {
	if r.opt.Jail == nil {
		return nil
	}
	own := work.Jail{
		// Its own output too: /dev/stderr is opened by the name of the file that it is.
		Write: []string{e.Dir, e.outbox, filepath.Join(e.home, "home"), filepath.Join(e.home, "tmp"), e.log, errLog(e.log)},
		Read:  []string{e.prompt},
	}
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"} {
		if e.env[name] != "" {
			own.Read = append(own.Read, e.env[name])
		}
	}
	if program, err := exec.LookPath(e.preset.Argv[0]); err == nil && !r.inContainer() {
		if file, err := filepath.EvalSymlinks(program); err == nil {
			own.Read = append(own.Read, file)
		}
	}
	j := r.opt.Jail.And(e.Command.Jail).And(own)
	for _, o := range e.opened {
		j = j.And(o.Jail)
	}
	return &j
}
