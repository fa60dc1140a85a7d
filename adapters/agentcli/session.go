package agentcli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// An attempt that did not finish leaves its tool's session to the next one of the same run,
// role and preset: the files below Preset.Sessions of its HOME, which ends with it. They are
// kept beside the marks of runs, in a directory of their task that goes with it. Another run
// of the task removes them.

// Bounds of what is kept of a session.
const (
	sessionFiles = 1000
	sessionBytes = 64 << 20
)

// sessionID is the form of the names that sessions have.
var sessionID = regexp.MustCompile(`^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// resumed is said to a tool that goes on with a session.
const resumed = "Your session was interrupted before you had finished. " +
	"The working directory was made anew since: it is as it was committed, and what was not committed is gone. " +
	"Your task, again:\n\n"

// sessionsOf is the directory of a task's sessions.
func (r *Runner) sessionsOf(task int64) string {
	return filepath.Join(r.opt.StateDir, fmt.Sprintf("%d.sessions", task))
}

// giveSession puts the session of the attempt before into the HOME of this one, and removes
// what is another's. That a session cannot be given is no failure: the attempt begins anew.
func (r *Runner) giveSession(e *execution) {
	all := r.sessionsOf(e.TaskID)
	entries, _ := os.ReadDir(all) // none is the usual case
	for _, other := range entries {
		if name := filepath.Join(all, other.Name()); name != e.session {
			r.dropSession(name)
		}
	}
	if e.session == "" {
		return
	}
	id, err := os.ReadFile(filepath.Join(e.session, "id"))
	if err != nil {
		return
	}
	home := filepath.Join(e.home, "home")
	if err := copyTree(filepath.Join(e.session, "home"), home, "."); err != nil {
		r.opt.Log.Warn("a session cannot be gone on with", "task", e.TaskID, "err", err)
		return
	}
	e.resume = string(id)
}

// takeSession keeps the session of an execution that has ended, whatever way.
func (r *Runner) takeSession(rec record, home string) {
	if rec.Session == "" || home == "" {
		return
	}
	r.dropSession(rec.Session)
	from, to := filepath.Join(home, "home"), filepath.Join(rec.Session, "home")
	id := newestSession(from, rec.Sessions)
	if id == "" {
		return
	}
	err := os.MkdirAll(to, 0o700)
	for _, dir := range rec.Sessions {
		err = errors.Join(err, copyTree(from, to, dir))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(rec.Session, "id"), []byte(id), 0o600)
	}
	if err != nil {
		r.opt.Log.Warn("the session of a run cannot be kept", "task", rec.TaskID, "err", err)
		r.dropSession(rec.Session)
	}
}

func (r *Runner) dropSession(dir string) {
	if dir == "" {
		return
	}
	defer func() { _ = os.Remove(filepath.Dir(dir)) }() // unless it has others
	if err := jail.RemoveTree(dir); err != nil {
		r.opt.Log.Warn("a session cannot be removed", "dir", dir, "err", err)
	}
}

// goesOn reports whether the next attempt goes on with the session of one that ended so.
func goesOn(res work.Result) bool {
	switch res.Kind {
	case work.ResultTimeout, work.ResultStalled, work.ResultCancelled:
		return true
	}
	return res.Kind == work.ResultFailed && res.Trouble.Kind == work.TroubleLimit
}

// newestSession is the id of the session that was written to last.
func newestSession(home string, dirs []string) (id string) {
	var last time.Time
	for _, dir := range dirs {
		files, _ := filepath.Glob(filepath.Join(escape(home), dir, "*", "*.jsonl")) // the pattern is right
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
			if info, err := os.Lstat(file); err == nil && sessionID.MatchString(name) && info.ModTime().After(last) {
				id, last = name, info.ModTime()
			}
		}
	}
	return id
}

// copyTree copies the files of a directory below from to the same place below to. An agent
// has made them: links are left out, and what is too much is an error.
func copyTree(from, to, dir string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	files, bytes := sessionFiles, int64(sessionBytes)
	return fs.WalkDir(root.FS(), filepath.ToSlash(dir), func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if files, bytes = files-1, bytes-info.Size(); files < 0 || bytes < 0 { // before it is read
			return fmt.Errorf("it has more than %d files or %d bytes", sessionFiles, sessionBytes)
		}
		body, err := fs.ReadFile(root.FS(), name)
		if err != nil {
			return err
		}
		return put(filepath.Join(to, filepath.FromSlash(name)), body)
	})
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
