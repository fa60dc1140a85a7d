package postgres_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/queue/historytest"
)

// A call takes some milliseconds here.
const (
	historyCalls = 150
	historyTTL   = 60 * time.Millisecond
)

// soak is how many times as long tests run that look for what happens rarely.
func soak(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("SOAK"), "1"))
	require.NoError(t, err, "SOAK is a number")
	return max(n, 1)
}

// historian is a process that calls the store and reports what it saw.
func historian(what string) {
	db, err := postgres.Open(context.Background(), postgres.Options{URL: os.Getenv(historytest.EnvWhere), AllowUnsafe: true, Patience: time.Minute})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	historytest.Main(func(ctx context.Context, log *historytest.Log) {
		if what == "jobs" {
			historytest.Jobs(ctx, db, log, historyCalls, historyTTL)
		} else {
			historytest.Leases(ctx, db.Leases(), log, historyCalls/2, historyTTL)
		}
	})
}

// Three processes share a database. One is killed, one is paused for longer than
// claims and leases live, and the server crashes: what everybody saw can be
// explained by one call after the other.
func TestHistory(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"jobs", "leases"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := pgtest.Start(t, pgtest.Options{Durable: true})
			for round := range soak(t) {
				url := s.URL("postgres")
				if round > 0 {
					url = database(t, s, round)
				}
				clients := historytest.NewClients(t, url)
				disturb(t, s, clients, what)
				if what == "leases" {
					historytest.CheckLeases(t, clients.History()).Need(t, "acquire", "release", "holder", "no acquire")
					continue
				}
				db := at(t, url)
				end := clients.Log()
				historytest.See(t.Context(), db, end)
				require.NoError(t, end.Err())
				historytest.CheckJobs(t, clients.History()).Need(t, "put", "take", "extend", "finish", "again", "cancel", "reap", "no finish", "no cancel")
				agree(t, url)
			}
		})
	}
}

// database makes a further database on a server.
func database(t *testing.T, s *pgtest.Server, n int) string {
	t.Helper()
	name := fmt.Sprintf("history%d", n)
	c := connect(t, s.URL("postgres"))
	execute(t, c, "create database "+name)
	return s.URL(name)
}

func disturb(t *testing.T, s *pgtest.Server, clients *historytest.Clients, what string) {
	t.Helper()
	a, b, c := clients.Start(what), clients.Start(what), clients.Start(what)
	clients.More(150)
	require.NoError(t, b.Process.Signal(syscall.SIGSTOP))
	clients.Kill(a)
	d := clients.Start(what)
	clients.More(100)
	require.NoError(t, b.Process.Signal(syscall.SIGCONT))
	require.NoError(t, clients.Log().Crash(func() error { return errors.Join(s.Kill(), s.Restart()) }))
	clients.More(100)
	clients.Kill(c)
	clients.Finish(b, d)
}
