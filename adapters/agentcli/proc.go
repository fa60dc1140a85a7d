//go:build linux

package agentcli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
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
	bare   bool // it has no environment, as one of the kernel has none
}

func proc(pid int, file string) string { return filepath.Join("/proc", strconv.Itoa(pid), file) }

// Fields of /proc/PID/stat, counted from the one behind the name.
const (
	statState  = 0
	statParent = 1
	statTTY    = 4
	statFlags  = 6
	statStart  = 19
	statEnv    = 47
	statEnvEnd = 48
	statFields = 49

	kernelThread = 0x00200000 // in the flags
)

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
	if len(fields) < statFields {
		return p, false
	}
	parent, err1 := strconv.Atoi(fields[statParent])
	start, err2 := strconv.ParseUint(fields[statStart], 10, 64)
	flags, err3 := strconv.ParseUint(fields[statFlags], 10, 64)
	dead := fields[statState] == "Z" || fields[statState] == "X"
	return process{
		ident: ident{pid, start}, parent: parent, dead: dead, tty: fields[statTTY] != "0",
		bare: flags&kernelThread != 0 || fields[statEnvEnd] != "0" && fields[statEnv] == fields[statEnvEnd],
	}, err1 == nil && err2 == nil && err3 == nil
}

// pids lists the processes there are.
func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what could be read counts; callers look again
	var out []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// rounds bounds how often one look at the table lists it.
const rounds = 16

// entry is a process and whether it is one of those looked for by itself.
type entry struct {
	process
	ours bool
}

// processTable reads the process table. Whole is false when somebody may be missing:
// what ends or becomes another program while it is looked at may have started a
// process that is not in the list, so that the table is listed again until
// nobody is lost.
func processTable(ours func(process) (yes, sure bool)) (all map[int]entry, whole bool) {
	all, seen := map[int]entry{}, map[int]bool{}
	for n := 0; n < rounds && !whole; n++ {
		whole = true
		for _, pid := range pids() {
			if seen[pid] {
				continue
			}
			var e entry
			if e, seen[pid] = readProc(pid, ours); e.PID != 0 {
				all[pid] = e
			}
			whole = whole && seen[pid] && !e.dead
		}
	}
	return all, whole
}

// readProc looks at one process; sure is false when that has to be done again.
func readProc(pid int, ours func(process) (yes, sure bool)) (e entry, sure bool) {
	before, ok := lookup(pid)
	if !ok {
		return e, false
	}
	e.process = before
	if before.dead {
		return e, true
	}
	if e.ours, sure = ours(before); e.ours {
		return e, true
	}
	after, ok := lookup(pid)
	return e, sure && ok && after.ident == before.ident && !after.dead && after.bare == before.bare
}

// descendants lists the living processes below those given.
func descendants(procs map[int]entry, of ...int) []ident {
	below := map[int]bool{}
	for _, pid := range of {
		below[pid] = true
	}
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
		if below[p.PID] && !slices.Contains(of, p.PID) && !p.dead {
			out = append(out, p.ident)
		}
	}
	return out
}

// children lists the living processes below this one. It reads the lists of
// children, which takes a fraction of what the whole table does: a process that
// is soon another one is still there when it is signalled. A kernel without
// those lists has the table.
func children() (out []ident) {
	waiting := []int{os.Getpid()}
	for len(waiting) > 0 {
		pid := waiting[0]
		waiting = waiting[1:]
		lists, _ := filepath.Glob(proc(pid, "task/*/children")) // none when it has ended
		if len(lists) == 0 && pid == os.Getpid() {
			procs, _ := processTable(func(process) (bool, bool) { return false, true })
			return descendants(procs, pid)
		}
		for _, list := range lists {
			body, _ := os.ReadFile(list) // a thread may have ended
			for _, f := range strings.Fields(string(body)) {
				child, err := strconv.Atoi(f)
				if err != nil {
					continue
				}
				waiting = append(waiting, child)
				if p, ok := lookup(child); ok && !p.dead {
					out = append(out, p.ident)
				}
			}
		}
	}
	return out
}

// isMarked reports whether a process inherited the run's mark. It is not sure
// of one that is just becoming another program or ending: nothing can be read.
func isMarked(p process, token string) (yes, sure bool) {
	env, err := os.ReadFile(proc(p.PID, "environ"))
	if err != nil {
		return false, p.bare || errors.Is(err, os.ErrPermission) // another user's
	}
	return bytes.Contains(append([]byte{0}, append(env, 0)...), []byte("\x00"+mark+"="+token+"\x00")), len(env) > 0 || p.bare
}

// leftovers lists the living processes of a run but for its shim: what is below
// the shim, what carries the mark, what the shim has noted with all below it, and
// what works in the run's directory without a terminal and is younger than the
// run. This process is never one of them. All is false when somebody may be missing.
func leftovers(r record) (left []ident, all bool) {
	procs, all := processTable(func(p process) (yes, sure bool) {
		yes, sure = isMarked(p, r.Token)
		since := r.Shim.PID != 0 && p.Start >= r.Shim.Start && !p.tty
		return yes || slices.Contains(r.Strays, p.ident) || since && worksIn(p.PID, r.Dir), sure
	})
	var roots []int // a stray may have started another behind the shim's last look
	for _, p := range append(slices.Clip(r.Strays), r.Shim) {
		if e, ok := procs[p.PID]; ok && e.ident == p { // a shim that has not begun is nobody
			roots = append(roots, p.PID)
		}
	}
	below := descendants(procs, roots...)
	for _, p := range procs {
		if (p.ours || slices.Contains(below, p.ident)) && p.PID != os.Getpid() && p.ident != r.Shim {
			left = append(left, p.ident)
		}
	}
	return left, all
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
// processes end at once.
const (
	lookSoon = 2 * time.Millisecond
	lookSlow = 100 * time.Millisecond
)

// blind is how many looks in a row may find nobody without being sure of it,
// on a machine where somebody is always missed.
const blind = 30

// errAlive passes: a process in the kernel comes out of it one day, or the machine is
// started anew. Until then nothing may be removed from under it.
var errAlive error = &fault.Error{Text: "processes of the run cannot be ended", Again: true}

// end brings processes down: TERM, then after the grace KILL, until list finds
// none and is sure that there is none.
func end(ctx context.Context, list func() (left []ident, all bool), grace time.Duration) error {
	begun, pause, killing, unseen := time.Now(), lookSoon, false, 0
	told := map[ident]bool{}
	for {
		left, all := list()
		unseen++
		if len(left) > 0 {
			unseen = 0
		}
		if len(left) == 0 && all || unseen >= blind {
			return nil
		}
		waited := time.Since(begun)
		if !killing && waited > grace || len(left) == 0 {
			killing, pause = waited > grace, lookSoon
		}
		if waited > grace+stubborn {
			return errAlive
		}
		for _, p := range left {
			if !told[p] {
				pause = lookSoon // so that a child which comes after them has no time for others
			}
			switch {
			case killing:
				signal(p, syscall.SIGKILL)
			case !told[p]:
				signal(p, syscall.SIGTERM)
			}
			told[p] = true
		}
		if err := run.Sleep(ctx, run.Real{}, pause); err != nil {
			return err
		}
		pause = min(pause*2, lookSlow)
	}
}
