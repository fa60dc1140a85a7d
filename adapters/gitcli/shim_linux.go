package gitcli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// exitNoStart is the shim's exit code when a check cannot be started.
const exitNoStart = 127

// stubborn is how long processes may survive KILL before they are given up.
const stubborn = 10 * time.Second

// RunCheckShim is the main function of the program that Options.Shim names; it returns
// the exit code. It runs one check, whose command is the first line of standard input,
// as JSON. When the check ends, or standard input does, it ends all that the check has
// started: orphans come back to it.
func RunCheckShim() int { return jail.RunShim("check-shim", exitNoStart, supervise) }

func supervise(in io.Reader, order jail.Order) (int, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return exitNoStart, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return exitNoStart, err
	}
	defer null.Close()
	attr := &os.ProcAttr{Env: os.Environ(), Files: []*os.File{null, os.Stderr, os.Stderr}}
	p, err := order.Start(order.Argv[0], os.DevNull, attr)
	if err != nil {
		return exitNoStart, err
	}
	run.New(context.Background(), nil).Go("stop", func(context.Context) { // ends with the process
		_, _ = io.Copy(io.Discard, in)
		_ = p.Kill() // it may have ended
	})
	code := exitNoStart
	for got := 0; got != p.Pid; {
		var status syscall.WaitStatus
		if got, err = syscall.Wait4(-1, &status, 0, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			return exitNoStart, err
		}
		code = status.ExitStatus()
		if status.Signaled() {
			code = 128 + int(status.Signal())
		}
	}
	return code, errors.Join(endOrphans(), order.Clear(context.Background()))
}

// endOrphans ends the children of this process, and theirs when they have become its
// own, until there is none. A child's number is nobody else's before it was waited for.
func endOrphans() error {
	for until := time.Now().Add(stubborn); ; {
		for _, pid := range children() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		got, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.ECHILD):
			return nil
		case time.Now().After(until):
			return errors.New("processes of the check cannot be ended")
		case got == 0:
			time.Sleep(time.Millisecond)
		}
	}
}

// children are the processes whose parent is this one.
func children() (out []int) {
	own := []byte(strconv.Itoa(os.Getpid()))
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, name := range stats {
		stat, _ := os.ReadFile(name) // it may have ended
		// The name of the program is in brackets and may hold anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil && len(fields) > 1 && bytes.Equal(fields[1], own) {
			out = append(out, pid)
		}
	}
	return out
}
