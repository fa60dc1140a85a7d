package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

func benchDB(b *testing.B) *sqlite.DB {
	b.Helper()
	db, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(b.TempDir(), "x.db")})
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close() })
	return db
}

func put(b *testing.B, db *sqlite.DB, n int, job func(i int) queue.Job) {
	b.Helper()
	for done := 0; done < n; {
		batch := make([]queue.Job, min(n-done, 5000))
		for i := range batch {
			batch[i] = job(done + i)
		}
		_, err := db.Put(b.Context(), batch...)
		require.NoError(b, err)
		done += len(batch)
	}
}

// BenchmarkClaimAndFinish claims and finishes jobs as the orchestrator makes them
// with synchronous=FULL, with and without jobs in front that cannot run. The call
// that ends a job takes the next. The ratio to the anchor (one bare update in a
// transaction of its own) is reported.
func BenchmarkClaimAndFinish(b *testing.B) {
	for _, workers := range []int{1, 8, 50, 1000} {
		for _, blocked := range []int{0, 100_000} {
			b.Run(fmt.Sprintf("workers=%d/blocked=%d", workers, blocked), func(b *testing.B) {
				db := benchDB(b)
				require.NoError(b, db.Hold(b.Context(), queue.Hold{Subject: "s", Name: "gate"}))
				put(b, db, blocked, func(int) queue.Job { return queue.Job{Pool: "p", Holds: []string{"s"}} })
				put(b, db, b.N, func(i int) queue.Job { return gated(i, b.N) })
				b.ResetTimer()
				begun := time.Now()
				work(b, db, workers)
				perJob := time.Since(begun).Seconds() / float64(b.N)
				b.ReportMetric(1/perJob, "jobs/s")
				b.ReportMetric(anchor(b).Seconds()/perJob, "x-anchor")
			})
		}
	}
}

// gated is the i-th of n jobs as the orchestrator makes them: four of each task, in
// the order of the task; each names two subjects that might be held.
func gated(i, n int) queue.Job {
	task := int64(i%max(n/4, 1)) + 1
	return queue.Job{
		Pool: "p", Kind: "noop", TaskID: task, Key: fmt.Sprint("task/", task), Role: "developer", Lane: "acme/app",
		Holds: []string{fmt.Sprint("task/", task), fmt.Sprint("repo/", task%100)}, Payload: []byte(`{"n":1}`), MaxAttempts: 25,
	}
}

// work ends one job and takes the next in each worker until none is left.
func work(b *testing.B, db *sqlite.DB, workers int) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			var claims []queue.Claim
			var err error
			for left.Load() > 0 && err == nil {
				if len(claims) == 0 {
					claims, err = db.Take(context.Background(), "p", "w", 1, time.Minute)
					continue
				}
				claims, err = db.FinishTake(context.Background(), claims[0], queue.Outcome{Kind: queue.OutcomeDone}, "p", "w", 1, time.Minute)
				left.Add(-1)
			}
			if err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
}

// anchor measures one durable update on this machine now.
func anchor(b *testing.B) time.Duration {
	b.Helper()
	raw, err := sql.Open("sqlite", filepath.Join(b.TempDir(), "anchor.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	require.NoError(b, err)
	defer raw.Close()
	raw.SetMaxOpenConns(1)
	_, err = raw.Exec("create table t (n integer); insert into t values (0)")
	require.NoError(b, err)
	const n = 200
	begun := time.Now()
	for range n {
		_, err := raw.Exec("update t set n = n + 1")
		require.NoError(b, err)
	}
	return time.Since(begun) / n
}

// BenchmarkReceive takes deliveries with 50 senders.
func BenchmarkReceive(b *testing.B) {
	db := benchDB(b)
	var wg sync.WaitGroup
	next := make(chan int)
	begun := time.Now()
	for range 50 {
		wg.Go(func() {
			for n := range next {
				id := fmt.Sprint(n)
				if _, err := db.Receive(context.Background(), task.Delivery{Source: "s", ID: id, BodyHash: id, ReceivedAt: time.Now()}, queue.Job{Pool: "p"}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for n := range b.N {
		next <- n
	}
	close(next)
	wg.Wait()
	b.ReportMetric(float64(b.N)/time.Since(begun).Seconds(), "acks/s")
}
