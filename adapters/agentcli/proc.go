//go:build linux

package agentcli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const supported = true

// bootID names this boot of the machine; process start times count from it.
func bootID() string {
	body, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // empty never equals a record's
	return strings.TrimSpace(string(body))
}

// process is a line of the kernel's process table.
type process struct {
	ident
	parent int
	dead   bool // a zombie: it only waits to be reaped
	tty    bool // it has a terminal: a person works there
}

func proc(pid int, file string) string { return filepath.Join("/proc", strconv.Itoa(pid), file) }

// lookup reads one process; ok is false when there is none.
func lookup(pid int) (p process, ok bool) {
	stat, err := os.ReadFile(proc(pid, "stat"))
	if err != nil {
		return p, false
	}
	// The name may hold anything, blanks and brackets too: fields count from the
	// last bracket.
	_, rest, _ := strings.Cut(string(stat[max(0, bytes.LastIndexByte(stat, ')')):]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return p, false
	}
	parent, err1 := strconv.Atoi(fields[1])
	start, err2 := strconv.ParseUint(fields[19], 10, 64)
	dead := fields[0] == "Z" || fields[0] == "X"
	return process{ident: ident{pid, start}, parent: parent, dead: dead, tty: fields[4] != "0"}, err1 == nil && err2 == nil
}

// table reads the process table. Processes that vanish meanwhile are left out.
func table() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what could be read counts; callers look again
	var out []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := lookup(pid); ok {
			out = append(out, p)
		}
	}
	return out
}

// descendants lists the living processes below one.
func descendants(procs []process, of int) []ident {
	below := map[int]bool{of: true}
	for again := true; again; {
		again = false
		for _, p := range procs {
			if below[p.parent] && !below[p.PID] {
				below[p.PID], again = true, true
			}
		}
	}
	var out []ident
	for _, p := range procs {
		if below[p.PID] && p.PID != of && !p.dead {
			out = append(out, p.ident)
		}
	}
	return out
}

// isMarked reports whether a process inherited the run's mark.
func isMarked(pid int, token string) bool {
	env, err := os.ReadFile(proc(pid, "environ"))
	return err == nil && bytes.Contains(append([]byte{0}, append(env, 0)...), []byte("\x00"+mark+"="+token+"\x00"))
}

// leftovers lists the living processes of a run but for its shim: what is below
// the shim, what carries the mark, what the shim has noted, and what works in
// the run's directory without a terminal and is younger than the run. This
// process is never one of them.
func leftovers(r record) []ident {
	procs := table()
	found := map[ident]bool{}
	for _, s := range r.Strays {
		found[s] = true
	}
	for _, p := range procs {
		if p.ident == r.Shim {
			for _, d := range descendants(procs, p.PID) {
				found[d] = true
			}
		}
	}
	var out []ident
	for _, p := range procs {
		if p.dead || p.PID == os.Getpid() || p.ident == r.Shim {
			continue
		}
		if found[p.ident] || isMarked(p.PID, r.Token) || r.Shim.PID != 0 && p.Start >= r.Shim.Start && !p.tty && worksIn(p.PID, r.Dir) {
			out = append(out, p.ident)
		}
	}
	return out
}

func worksIn(pid int, dir string) bool {
	cwd, err := os.Readlink(proc(pid, "cwd"))
	if err != nil || dir == "" {
		return false
	}
	cwd = strings.TrimSuffix(cwd, " (deleted)")
	return cwd == dir || strings.HasPrefix(cwd, dir+"/")
}

// alive lists a process if it lives.
func alive(p ident) []ident {
	if now, ok := lookup(p.PID); ok && now.ident == p && !now.dead {
		return []ident{p}
	}
	return nil
}

// signal sends a signal to exactly this process: the descriptor holds its
// number, and its start time says that it was not another's already.
func signal(p ident, s syscall.Signal) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		if errors.Is(err, unix.ENOSYS) && alive(p) != nil {
			_ = syscall.Kill(p.PID, s) // an old kernel; it may be gone already
		}
		return
	}
	defer unix.Close(fd)
	if alive(p) != nil {
		_ = unix.PidfdSendSignal(fd, s, nil, 0) // it may be gone already
	}
}

// stubborn is how long processes may survive KILL (in the kernel, on a disk)
// before that is an error.
const stubborn = 30 * time.Second

// Between two looks at the process table; the first comes soon, because most
// processes obey at once.
const (
	lookSoon = 2 * time.Millisecond
	lookSlow = 100 * time.Millisecond
)

var errAlive = errors.New("processes of the run cannot be ended")

// end brings processes down: TERM, then after the grace KILL, until list finds
// none.
func end(ctx context.Context, list func() []ident, grace time.Duration) error {
	begun, pause, killing := time.Now(), lookSoon, false
	told := map[ident]bool{}
	for {
		left := list()
		if len(left) == 0 {
			return nil
		}
		waited := time.Since(begun)
		if waited > grace && !killing {
			killing, pause = true, lookSoon
		}
		if waited > grace+stubborn {
			return errAlive
		}
		for _, p := range left {
			switch {
			case killing:
				signal(p, syscall.SIGKILL)
			case !told[p]:
				told[p] = true
				signal(p, syscall.SIGTERM)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(pause*2, lookSlow)
	}
}
