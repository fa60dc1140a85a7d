//go:build linux

package agentcli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/internal/run"
)

// record says what is running: it is written before anything is started.
type record struct {
	TaskID int64  `json:"task_id"`
	Token  string `json:"token"`
	Dir    string `json:"dir"`
}

// shimOrder is what the shim reads from its standard input, in one line.
type shimOrder struct {
	Argv    []string `json:"argv"`
	Dir     string   `json:"dir"`
	Stdin   string   `json:"stdin"`
	Out     string   `json:"out"`
	Err     string   `json:"err"`
	Max     int64    `json:"max"`
	GraceMS int64    `json:"grace_ms"`
}

// Exit codes of the shim for failures of its own.
const (
	exitNoOrder = 125
	exitNoStart = 127
)

// leftoverGrace is what processes get that outlive their agent.
const leftoverGrace = 2 * time.Second

// RunShim is the main function of the shim; it returns the exit code. It reads
// its order from standard input and takes the end of that for the order to stop.
func RunShim() int {
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	var order shimOrder
	if err == nil {
		err = json.Unmarshal(line, &order)
	}
	if err != nil || len(order.Argv) == 0 {
		fmt.Fprintln(os.Stderr, "agent-shim is started by the service only; it reads its order from standard input")
		return exitNoOrder
	}
	// Whatever the agent's processes do, orphans come back to this one.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "agent-shim:", err)
		return exitNoStart
	}
	return obey(in, order)
}

func obey(in io.Reader, order shimOrder) int {
	logs := run.New(context.Background(), nil)
	out, err := output(logs, order.Out, order.Max)
	if err != nil {
		return exitNoStart
	}
	errs, err := output(logs, order.Err, order.Max)
	if err != nil {
		return exitNoStart
	}
	pid, err := start(order, out, errs)
	if err != nil {
		fmt.Fprintln(errs, "the agent cannot be started:", err)
	}
	out.Close()
	errs.Close()
	code := exitNoStart
	if err == nil {
		code = watch(in, pid, time.Duration(order.GraceMS)*time.Millisecond)
	}
	logs.Wait() // nobody holds their pipes open any more
	return code
}

// output makes a pipe whose content goes to a capped file.
func output(g *run.Group, name string, limit int64) (*os.File, error) {
	log, err := newCapped(name, limit)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	g.Go("log", func(context.Context) {
		_, _ = io.Copy(log, r) // a full disk must not stop the agent by a full pipe
		_, _ = io.Copy(io.Discard, r)
		_ = log.Close()
	})
	return w, nil
}

// start starts the agent in a process group of its own.
func start(o shimOrder, out, errs *os.File) (int, error) {
	stdin, err := os.Open(o.Stdin)
	if err != nil {
		return 0, err
	}
	defer stdin.Close()
	path, err := lookPath(o.Argv[0], o.Dir)
	if err != nil {
		return 0, err
	}
	p, err := os.StartProcess(path, o.Argv, &os.ProcAttr{
		Dir: o.Dir, Env: os.Environ(), Files: []*os.File{stdin, out, errs}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return 0, err
	}
	return p.Pid, nil // it is waited for by pid, with everybody else's orphans
}

// watch waits for the agent, ends what outlives it, and reaps every process
// that comes back to the shim. The order to stop is the end of in, or TERM.
func watch(in io.Reader, pid int, grace time.Duration) int {
	var stopping atomic.Bool
	var code atomic.Int64
	code.Store(exitNoStart)
	stop := make(chan os.Signal, 4)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	g := run.New(context.Background(), nil) // ends with the process
	g.Go("stop", func(context.Context) {
		_, _ = io.Copy(io.Discard, in)
		stop <- syscall.SIGTERM
	})
	reaped := make(chan struct{})
	g.Go("reaper", func(context.Context) {
		defer close(reaped)
		for {
			var ws syscall.WaitStatus
			got, err := syscall.Wait4(-1, &ws, 0, nil)
			switch {
			case errors.Is(err, syscall.EINTR):
			case err != nil: // no child is left
				return
			case got == pid:
				code.Store(int64(statusOf(ws)))
				if !stopping.Load() {
					g.Go("leftovers", func(context.Context) { end(below, leftoverGrace) })
				}
			}
		}
	})
	select {
	case <-reaped:
	case <-stop:
		stopping.Store(true)
		end(below, grace)
		<-reaped
	}
	return int(code.Load())
}

func below() []int { return descendants(os.Getpid()) }

func statusOf(ws syscall.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// lookPath finds an executable as a shell would, relative to the directory.
func lookPath(name, dir string) (string, error) {
	if strings.ContainsRune(name, '/') {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, nil
	}
	for _, p := range filepath.SplitList(os.Getenv("PATH")) {
		full := filepath.Join(p, name)
		if info, err := os.Stat(full); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 && filepath.IsAbs(full) {
			return full, nil
		}
	}
	return "", fmt.Errorf("%s is not installed", name)
}

// Quiesce implements work.Agents.
func (r *Runner) Quiesce(_ context.Context, taskID int64) error {
	names, err := filepath.Glob(filepath.Join(r.opt.StateDir, fmt.Sprintf("%d.*.json", taskID)))
	if err != nil {
		return err
	}
	for _, name := range names {
		body, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		var rec record
		if err := json.Unmarshal(body, &rec); err != nil || rec.Token == "" {
			r.opt.Log.Warn("a record of a run cannot be read", "file", name, "err", err) // nothing was started before it was whole
		} else if !end(func() []int { return marked(rec) }, r.opt.TermGrace) {
			return fmt.Errorf("agentcli: processes of task %d cannot be ended", taskID)
		}
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
