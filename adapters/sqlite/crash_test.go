package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/historytest"
)

// TestMain lets the test's own program be a process that is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("SQLITE_VICTIM"); path != "" {
		victim(path)
	}
	if os.Getenv(historytest.EnvWhat) != "" {
		historian()
	}
	os.Exit(m.Run())
}

// victim takes deliveries and works jobs off until it is killed. It says what it
// has acknowledged.
func victim(path string) {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path})
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
	for w := range 4 {
		go func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("%d-%d-%d", os.Getpid(), w, n)
				d := task.Delivery{Source: "s", ID: id, BodyHash: id, ReceivedAt: time.Now()}
				if _, err := db.Receive(ctx, d, queue.Job{Pool: "p", Kind: id, Key: fmt.Sprint("k", n%5)}); err == nil {
					say("received", id)
				}
			}
		}()
	}
	for {
		claims, err := db.Take(ctx, "p", "w", 8, time.Hour)
		if err != nil {
			continue
		}
		for _, c := range claims {
			if db.Finish(ctx, c, queue.Outcome{Kind: queue.OutcomeDone}) == nil {
				say("finished", c.Job.Kind)
			}
		}
	}
}

// A process is killed again and again in the middle of its writes: what it has
// acknowledged is there, and the small tables agree with the jobs.
func TestKill(t *testing.T) {
	t.Parallel()
	path := place(t)
	acked := map[string]bool{}
	finished := map[string]bool{}
	for range 8 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), "SQLITE_VICTIM="+path)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		kill := sync.OnceFunc(func() { // at a random moment after it has begun
			time.AfterFunc(time.Duration(20+rand.IntN(120))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		})
		for lines := bufio.NewScanner(out); lines.Scan(); kill() {
			switch what, id, _ := strings.Cut(lines.Text(), " "); what {
			case "received":
				acked[id] = true
			case "finished":
				require.False(t, finished[id], "job %s was finished twice", id)
				finished[id] = true
			default:
				t.Fatal(lines.Text())
			}
		}
		_ = cmd.Wait()
		require.NoError(t, ctx.Err(), "a process says nothing; acknowledged so far: %d, finished: %d", len(acked), len(finished))
		cancel()
	}
	require.Greater(t, len(acked), 20)
	agree(t, path)
	db := openAt(t, path)
	jobs := read(t, db.Jobs, queue.Filter{Limit: 1_000_000})
	byID := map[string]queue.Job{}
	open := map[queue.Status]int64{}
	for _, j := range jobs {
		byID[j.Kind] = j
		if !j.Status.Terminal() {
			open[j.Status]++
		}
	}
	for id := range acked {
		require.Contains(t, byID, id, "an acknowledged delivery is lost")
	}
	for id := range finished {
		require.Equal(t, queue.Done, byID[id].Status)
	}
	depth, err := db.Depth(t.Context())
	require.NoError(t, err)
	for _, d := range depth {
		require.Equal(t, open[d.Status], d.Count, d.Status)
	}
	for id := range acked {
		duplicate, err := db.Receive(t.Context(), task.Delivery{Source: "s", ID: id, BodyHash: id, ReceivedAt: time.Now()}, queue.Job{Pool: "p"})
		require.NoError(t, err)
		require.True(t, duplicate)
		break
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	db := openAt(t, place(t))
	require.NoError(t, db.Ping(t.Context()))
	require.NoError(t, db.Close())
	require.NoError(t, db.Close(), "closing again is a success")
	require.ErrorIs(t, db.Ping(t.Context()), sqlite.ErrClosed)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := sqlite.Open(ctx, sqlite.Options{Path: place(t)})
	require.Error(t, err)
	_, err = sqlite.Open(t.Context(), sqlite.Options{})
	require.ErrorContains(t, err, "Path is missing")
	_, err = sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(os.Args[0], "x.db")})
	require.Error(t, err)
}

func Example() {
	dir, err := os.MkdirTemp("", "sqlite")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(dir, "signalbox.db")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	_, err = db.Put(ctx, queue.Job{Pool: "agents", Kind: "build"})
	claims, _ := db.Take(ctx, "agents", "worker-1", 1, time.Minute)
	fmt.Println(claims[0].Job.Kind, err)
	// Output: build <nil>
}
