package postgres_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/historytest"
)

// TestMain lets the test's own program be a process that is killed.
func TestMain(m *testing.M) {
	if url := os.Getenv("POSTGRES_VICTIM"); url != "" {
		victim(url)
	}
	if what := os.Getenv(historytest.EnvWhat); what != "" {
		historian(what)
	}
	pgtest.SkipExamples()
	os.Exit(m.Run())
}

// victim takes deliveries and works jobs off until it is killed. It says what it
// has acknowledged.
func victim(url string) {
	ctx := context.Background()
	db, err := postgres.Open(ctx, postgres.Options{URL: url})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var mu sync.Mutex
	say := func(what, id string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(what, id)
	}
	go func() { // one alone: of many that want the turn, who works jobs off would have it too seldom on a busy machine
		for n := 0; ; n++ {
			id := fmt.Sprintf("%d-%d", os.Getpid(), n)
			d := task.Delivery{Source: "s", ID: id, BodyHash: id, ReceivedAt: time.Now()}
			if duplicate, err := db.Receive(ctx, d, queue.Job{Pool: "p", Kind: id, Key: fmt.Sprint("k", n%5)}); err == nil && !duplicate {
				say("received", id)
			}
		}
	}()
	for {
		if _, err := db.Reap(ctx); err != nil {
			continue
		}
		claims, err := db.Take(ctx, "p", "w", 8, 100*time.Millisecond)
		if err != nil {
			continue
		}
		for _, c := range claims {
			if db.Finish(ctx, c, success) == nil {
				say("finished", c.Job.Kind)
			}
		}
	}
}

// heard collects what the victims have acknowledged.
type heard struct {
	mu                 sync.Mutex
	received, finished map[string]bool
	twice, other       []string
	changed            chan struct{}
}

func (h *heard) line(s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch what, id, _ := strings.Cut(s, " "); what {
	case "received":
		h.received[id] = true
	case "finished":
		if h.finished[id] {
			h.twice = append(h.twice, id)
		}
		h.finished[id] = true
	default:
		h.other = append(h.other, s)
	}
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// more waits until n more jobs were finished.
func (h *heard) more(t *testing.T, n int) {
	t.Helper()
	h.mu.Lock()
	want := len(h.finished) + n
	h.mu.Unlock()
	for deadline := time.After(time.Minute); ; {
		h.mu.Lock()
		enough := len(h.finished) >= want
		h.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-h.changed:
		case <-deadline:
			require.Fail(t, "the processes make no progress")
		}
	}
}

// process starts a victim.
func (h *heard) process(t *testing.T, url string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "POSTGRES_VICTIM="+url)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			h.line(lines.Text())
		}
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-read; _ = cmd.Wait() })
	return cmd
}

// Three processes share a database. One is paused while it starts, one is killed, one is
// paused for longer than its claims live, and the server crashes, in turn: what was acknowledged
// is there, nothing is done twice, and the small tables agree with the jobs.
func TestReplicas(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t, pgtest.Options{Durable: true})
	url := s.URL("postgres")
	h := &heard{received: map[string]bool{}, finished: map[string]bool{}, changed: make(chan struct{}, 1)}
	c, lock := connect(t, url), "lock(hashtextextended('signalbox migrations of signalbox', 0))"
	execute(t, c, "select pg_advisory_"+lock)
	first := h.process(t, url)
	waits(t, url, 1)
	require.NoError(t, first.Process.Signal(syscall.SIGSTOP)) // in the middle of its start
	execute(t, c, "select pg_advisory_un"+lock)
	procs := []*exec.Cmd{first, h.process(t, url), h.process(t, url)}
	h.more(t, 20)
	require.NoError(t, first.Process.Signal(syscall.SIGCONT))
	rounds := 2 * soak(t)
	if testing.Short() {
		rounds = 1
	}
	for round := range rounds {
		killed := round % 3
		require.NoError(t, procs[killed].Process.Kill())
		procs[killed] = h.process(t, url)
		paused := procs[(round+1)%3].Process
		require.NoError(t, paused.Signal(syscall.SIGSTOP))
		h.more(t, 20) // the others go on, even when it was paused in the middle of its turn
		require.NoError(t, paused.Signal(syscall.SIGCONT))
		require.NoError(t, s.Kill())
		require.NoError(t, s.Restart())
		h.more(t, 20)
	}
	for _, p := range procs {
		require.NoError(t, p.Process.Kill())
	}
	db, err := postgres.Open(t.Context(), postgres.Options{URL: url})
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.Ping(t.Context()), "whoever was killed in his turn has lost it")
	jobs := read(t, db.Jobs, queue.Filter{Limit: 10_000_000})
	byID := map[string]queue.Status{}
	for _, j := range jobs {
		require.NotContains(t, byID, j.Kind, "a delivery became two jobs")
		byID[j.Kind] = j.Status
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Empty(t, h.other)
	require.Empty(t, h.twice, "finished twice")
	for id := range h.received {
		require.Contains(t, byID, id, "an acknowledged delivery is lost")
	}
	for id := range h.finished {
		require.Equal(t, queue.Done, byID[id])
	}
	agree(t, url)
}
