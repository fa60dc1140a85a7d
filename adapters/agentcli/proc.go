//go:build linux

package agentcli

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a line of the kernel's process table.
type process struct {
	pid, parent int
	dead        bool // a zombie: it only waits to be reaped
	tty         bool // it has a terminal: a person works there
}

// table reads the process table. Processes that vanish meanwhile are left out.
func table() []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		// The name may hold anything, blanks and brackets too: fields count from
		// the last bracket.
		_, rest, _ := strings.Cut(string(stat[max(0, bytes.LastIndexByte(stat, ')')):]), " ")
		fields := strings.Fields(rest)
		if len(fields) < 5 {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		out = append(out, process{pid: pid, parent: parent, dead: fields[0] == "Z" || fields[0] == "X", tty: fields[4] != "0"})
	}
	return out
}

// descendants lists the living processes below one.
func descendants(of int) []int {
	procs := table()
	below := map[int]bool{of: true}
	for again := true; again; {
		again = false
		for _, p := range procs {
			if below[p.parent] && !below[p.pid] {
				below[p.pid], again = true, true
			}
		}
	}
	var out []int
	for _, p := range procs {
		if below[p.pid] && p.pid != of && !p.dead {
			out = append(out, p.pid)
		}
	}
	return out
}

// marked lists the living processes that carry a run's mark in their
// environment, or work in its directory without a terminal, but for this
// process itself.
func marked(r record) []int {
	mark := []byte("SIGNALBOX_RUN_TOKEN=" + r.Token + "\x00")
	var out []int
	for _, p := range table() {
		if p.dead || p.pid == os.Getpid() {
			continue
		}
		dir := filepath.Join("/proc", strconv.Itoa(p.pid))
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err == nil && bytes.Contains(append(env, 0), mark) {
			out = append(out, p.pid)
			continue
		}
		if cwd, err := os.Readlink(filepath.Join(dir, "cwd")); err == nil && r.Dir != "" && !p.tty && inside(cwd, r.Dir) {
			out = append(out, p.pid)
		}
	}
	return out
}

func inside(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// end brings processes down: TERM, then after the grace KILL, until list finds
// none. It reports whether none is left.
func end(list func() []int, grace time.Duration) bool {
	begun, signal := time.Now(), syscall.SIGTERM
	sent := map[int]syscall.Signal{}
	for {
		pids := list()
		if len(pids) == 0 {
			return true
		}
		waited := time.Since(begun)
		if waited > grace {
			signal = syscall.SIGKILL
		}
		if waited > grace+stubborn {
			return false
		}
		for _, pid := range pids {
			if sent[pid] != signal || signal == syscall.SIGKILL {
				sent[pid] = signal
				_ = syscall.Kill(pid, signal) // it may be gone already
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// stubborn is how long processes may survive KILL (in the kernel, on a disk)
// before that is an error.
const stubborn = 30 * time.Second
