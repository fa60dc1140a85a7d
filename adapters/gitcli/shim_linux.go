package gitcli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	own := &syscall.SysProcAttr{Setpgid: true} // a script that signals its group means itself
	attr := &os.ProcAttr{Env: os.Environ(), Files: []*os.File{null, os.Stderr, os.Stderr}, Sys: own}
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
	if err := errors.Join(endOrphans(), order.Clear(context.Background())); err != nil {
		return exitNoStart, err // whatever the check has said, it is not over
	}
	return code, nil
}

// endOrphans ends the children of this process, and theirs when they have become its
// own, until there is none. A child's number is nobody else's before it was waited for.
func endOrphans() error {
	for until := time.Now().Add(stubborn); time.Now().Before(until); time.Sleep(time.Millisecond) {
		for _, pid := range children() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		for got := 1; got > 0; { // those that have ended lengthen the list
			var err error
			if got, err = syscall.Wait4(-1, nil, syscall.WNOHANG, nil); errors.Is(err, syscall.ECHILD) {
				return nil
			}
		}
	}
	return errors.New("processes of the check cannot be ended")
}

// children are the processes whose parent is this one. The kernel lists them by its threads; a kernel without the lists has
// the table, which is long: what has another in its place at once has ended when all of it was read.
func children() (out []int) {
	lists, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is right
	for _, name := range lists {
		list, _ := os.ReadFile(name) // its thread may have ended
		for text := range strings.FieldsSeq(string(list)) {
			if pid, err := strconv.Atoi(text); err == nil {
				out = append(out, pid)
			}
		}
	}
	if len(lists) > 0 {
		return out
	}
	own := []byte(strconv.Itoa(os.Getpid()))
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the same
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
