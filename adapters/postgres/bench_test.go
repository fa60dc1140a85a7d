package postgres_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// benchDB is a store on a server of its own that keeps what it commits.
func benchDB(b *testing.B) (*postgres.DB, string) {
	b.Helper()
	url := pgtest.Start(b, pgtest.Options{Durable: os.Getenv("BENCH_UNSAFE") == ""}).URL("postgres")
	db, err := postgres.Open(b.Context(), postgres.Options{URL: url, AllowUnsafe: os.Getenv("BENCH_UNSAFE") != ""})
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close() })
	return db, url
}

func put(b *testing.B, db *postgres.DB, n, keys int, job queue.Job) {
	b.Helper()
	for n > 0 {
		batch := make([]queue.Job, min(n, 5000))
		for i := range batch {
			batch[i] = job
			if keys > 0 {
				batch[i].Key = fmt.Sprint(i % keys)
			}
		}
		_, err := db.Put(b.Context(), batch...)
		require.NoError(b, err)
		n -= len(batch)
	}
}

// BenchmarkClaimAndFinish claims and finishes no-op jobs with fsync on: plain
// ones, plain ones behind 100,000 that cannot run, and ones of 1,000 keys that
// each open the next. The ratio to the anchor (one bare update in a transaction
// of its own) is reported.
func BenchmarkClaimAndFinish(b *testing.B) {
	for _, workers := range []int{1, 8, 50, 500, 2000} {
		for _, c := range []struct{ blocked, keys int }{{0, 0}, {100_000, 0}, {0, 1000}} {
			b.Run(fmt.Sprintf("workers=%d/blocked=%d/keys=%d", workers, c.blocked, c.keys), func(b *testing.B) {
				db, url := benchDB(b)
				require.NoError(b, db.Hold(b.Context(), queue.Hold{Subject: "s", Name: "gate"}))
				put(b, db, c.blocked, 0, queue.Job{Pool: "p", Holds: []string{"s"}})
				put(b, db, b.N, c.keys, queue.Job{Pool: "p"})
				bare := anchor(b, url)
				before := spent(b, url)
				b.ResetTimer()
				begun := time.Now()
				work(b, db, workers, b.N)
				perJob := time.Since(begun).Seconds() / float64(b.N)
				b.StopTimer()
				after := spent(b, url)
				b.ReportMetric(float64(after.wal-before.wal)/float64(b.N), "wal-B/job")
				b.ReportMetric(float64((after.cpu-before.cpu).Microseconds())/float64(b.N), "server-us/job")
				b.ReportMetric(1/perJob, "jobs/s")
				b.ReportMetric(bare.Seconds()/perJob, "x-anchor")
			})
		}
	}
}

// work takes and finishes jobs in each worker until n are done: the call that ends
// one takes the next.
func work(b *testing.B, db *postgres.DB, workers, n int) {
	b.Helper()
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(n))
	for range workers {
		wg.Go(func() {
			var claims []queue.Claim
			for left.Load() > 0 {
				var err error
				if len(claims) == 0 {
					claims, err = db.Take(context.Background(), "p", "w", 1, time.Minute)
				} else {
					claims, err = db.FinishTake(context.Background(), claims[0], queue.Outcome{Kind: queue.OutcomeDone}, "p", "w", 1, time.Minute)
					left.Add(-1)
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// anchor measures one durable update on this machine now.
func anchor(b *testing.B, url string) time.Duration {
	b.Helper()
	c, err := pgx.Connect(b.Context(), url)
	require.NoError(b, err)
	defer c.Close(b.Context())
	_, err = c.Exec(b.Context(), "create table if not exists anchor as select 0 as n")
	require.NoError(b, err)
	_, err = c.Exec(b.Context(), "checkpoint") // what was put is written before the clock runs
	require.NoError(b, err)
	const n = 200
	begun := time.Now()
	for range n {
		_, err := c.Exec(b.Context(), "update anchor set n = n + 1")
		require.NoError(b, err)
	}
	return time.Since(begun) / n
}

// cost counts what a server has used so far.
type cost struct {
	wal int64
	cpu time.Duration // of its connections
}

func spent(b *testing.B, url string) (c cost) {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), url)
	require.NoError(b, err)
	defer conn.Close(b.Context())
	require.NoError(b, conn.QueryRow(b.Context(), "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").Scan(&c.wal))
	rows, err := conn.Query(b.Context(), "select pid from pg_stat_activity where datname is not null")
	require.NoError(b, err)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(b, err)
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // there is no /proc here, or the connection has ended
		}
		_, fields, _ := strings.Cut(string(stat), ") ")
		for _, ticks := range strings.Fields(fields)[11:13] { // user and system time, in hundredths
			n, err := strconv.Atoi(ticks)
			require.NoError(b, err)
			c.cpu += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return c
}

// BenchmarkReceive takes deliveries with 50 senders.
func BenchmarkReceive(b *testing.B) {
	db, _ := benchDB(b)
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
