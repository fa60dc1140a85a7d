package main

import (
	"context"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// replica is one process of the service: the only one, or one of several that
// share a database.
type replica struct {
	address, data string
	pid           atomicInt
}

// keeper keeps the server's processes running, and kills and pauses them on
// demand.
type keeper struct {
	w       *world
	started atomicInt
	killed  atomicInt
	paused  atomicInt

	mu   sync.Mutex
	rand *rand.Rand
	dead map[int]bool // processes that were killed
}

func (k *keeper) restarts() int { return max(int(k.started.Load())-len(k.w.replicas), 0) }

// done reports whether everything has been broken as often as the options say.
func (k *keeper) done() bool {
	return int(k.killed.Load()) >= k.w.o.kills && int(k.paused.Load()) >= k.w.o.pauses
}

func (k *keeper) chance(n int) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rand.IntN(n)
}

// run starts a replica again whenever it has died.
func (k *keeper) run(ctx context.Context, r *replica) {
	for ctx.Err() == nil {
		log, err := os.OpenFile(k.w.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return
		}
		cmd := exec.Command("/proc/self/exe", "server")
		cmd.Env, cmd.Stdout, cmd.Stderr = k.w.environ(r), log, log
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err == nil {
			k.started.Add(1)
			r.pid.Store(int64(cmd.Process.Pid))
			stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
			_ = cmd.Wait() // how it ended does not matter: it is started again
			stop()
		}
		_ = log.Close()
		pause(ctx, 20*time.Millisecond)
	}
}

// pick chooses a replica's process.
func (k *keeper) pick() int { return int(k.w.replicas[k.chance(len(k.w.replicas))].pid.Load()) }

// kill kills a replica, as often as the options say together with those within calls, at random moments.
func (k *keeper) kill(ctx context.Context) {
	for k.left() {
		if !pause(ctx, time.Duration(500+k.chance(3000))*time.Millisecond) || k.w.ready(ctx) != nil {
			return
		}
		if !pause(ctx, time.Duration(k.chance(200))*time.Millisecond) {
			return
		}
		k.strike()
	}
}

func (k *keeper) left() bool { return int(k.killed.Load()) < k.w.o.kills }

// strike kills a process once, unless enough were.
func (k *keeper) strike() {
	pid := k.pick()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left() && !k.dead[pid] && syscall.Kill(pid, syscall.SIGKILL) == nil {
		k.dead[pid] = true
		k.killed.Add(1)
	}
}

// watch kills a process whenever an agent or a hook of the git host is at the place for it, and goes on.
func (k *keeper) watch(ctx context.Context) {
	for k.left() && pause(ctx, 5*time.Millisecond) {
		if os.Remove(k.w.strikes()) == nil {
			k.strike()
		}
	}
}

// struck serves calls of the service to a neighbour. Some are the last of the process that makes them: it is killed before the
// neighbour has taken the call, or when it has, and before the answer.
func (k *keeper) struck(neighbour http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch before := k.chance(300); {
		case before == 0 && k.left():
			k.strike()
		case before == 1 && k.left():
			answer := httptest.NewRecorder()
			neighbour.ServeHTTP(answer, r)
			k.strike()
			maps.Copy(rw.Header(), answer.Header())
			rw.WriteHeader(answer.Code)
			_, _ = rw.Write(answer.Body.Bytes()) // nobody may read it any more
			return
		}
		neighbour.ServeHTTP(rw, r)
	})
}

// pause stops a replica (SIGSTOP) for longer than its claims live, so that
// others take its work over, and lets it go on.
func (k *keeper) pause(ctx context.Context) {
	for range k.w.o.pauses {
		if !pause(ctx, time.Duration(150+k.chance(900))*time.Millisecond) || k.w.ready(ctx) != nil {
			return
		}
		pid := k.pick()
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		slept := pause(ctx, jobTTL+jobTTL/3)
		_ = syscall.Kill(pid, syscall.SIGCONT)
		if !slept {
			return
		}
		k.paused.Add(1)
	}
}
