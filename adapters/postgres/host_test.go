package postgres_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/queue"
)

// claimable waits until a pool has given so many claims.
func claimable(t *testing.T, db *postgres.DB, pool string, want int) (out []queue.Claim) {
	t.Helper()
	require.Eventually(t, func() bool {
		claims, err := db.Take(t.Context(), pool, "w", 100, time.Minute)
		out = append(out, claims...)
		return err == nil && len(out) >= want
	}, 20*time.Second, 5*time.Millisecond)
	return out
}

// A host puts jobs in its own transaction: they come and go with it.
func TestWithTx(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	host := connect(t, url)
	put(t, db, queue.Job{Pool: "known", DedupeKey: "taken"})
	jobs := []queue.Job{
		{Pool: "p", Key: "k", DedupeKey: "d", Kind: "first", Payload: []byte("\x00\xff"), Holds: []string{"h"}, TaskID: 7, Lane: "l", Role: "r", Priority: -3, MaxAttempts: 5},
		{Pool: "p", Key: "k", Kind: "second"}, {Pool: "p", DedupeKey: "d", Kind: "the first again"}, {Pool: "p", DedupeKey: "taken"},
		{Pool: "p", Kind: "tomorrow", AvailableAt: time.Now().Add(24 * time.Hour).Truncate(time.Microsecond)},
	}
	stop := errors.New("stop")
	err := pgx.BeginFunc(t.Context(), host, func(tx pgx.Tx) error {
		require.NoError(t, db.WithTx(tx).Put(t.Context(), jobs...))
		return stop
	})
	require.ErrorIs(t, err, stop)
	hint := db.Wake("p")
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.Serializable} {
		err = pgx.BeginTxFunc(t.Context(), host, pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error {
			if err := db.WithTx(tx).Put(t.Context(), jobs...); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), "create table of_the_host_"+fmt.Sprint(len(level))+" (n int)")
			return err
		})
		require.NoError(t, err)
	}
	select {
	case <-hint: // before anybody takes them: who does in the transaction that moves them needs none
	case <-time.After(20 * time.Second):
		require.Fail(t, "no hint")
	}
	first := claimable(t, db, "p", 1)[0]
	require.Eventually(t, func() bool { // all of both are there, by the last of them
		list, err := db.Jobs(t.Context(), queue.Filter{Pool: "p"})
		return err == nil && len(list) == 5
	}, 20*time.Second, 5*time.Millisecond, "the first was there when the second transaction was moved")
	require.Equal(t, "first", first.Job.Kind)
	want := jobs[0]
	want.ID, want.Status, want.CreatedAt = first.Job.ID, queue.Queued, first.Job.CreatedAt
	got := first.Job
	got.Status, got.Attempt, got.Worker, got.StartedAt, got.HeartbeatAt, got.LeaseUntil = queue.Queued, 0, "", time.Time{}, time.Time{}, time.Time{}
	require.Equal(t, want, got, "nothing of it is lost on the way")
	claims := take(t, db, "p", 5)
	require.Empty(t, claims, "the others wait for the first, or for tomorrow")
	list := read(t, db.Jobs, queue.Filter{Pool: "p"})
	require.Equal(t, jobs[4].AvailableAt.UTC(), list[2].AvailableAt.UTC())
	agree(t, url)
}

// A host whose transaction stays open keeps nobody waiting: neither its store nor
// another one, nor another host.
func TestHostKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	db, other := at(t, url), at(t, url)
	hosts := make([]pgx.Tx, 2)
	for i := range hosts {
		var err error
		hosts[i], err = connect(t, url).Begin(t.Context())
		require.NoError(t, err)
		require.NoError(t, db.WithTx(hosts[i]).Put(t.Context(), queue.Job{Pool: "host", Kind: fmt.Sprint(i)}))
	}
	for _, store := range []*postgres.DB{db, other} { // with the transactions open: each call returns
		put(t, store, bare)
		claim := claimable(t, store, "p", 1)[0]
		require.NoError(t, store.Extend(t.Context(), claim, time.Minute))
		require.NoError(t, store.Finish(t.Context(), claim, success))
	}
	claims := take(t, db, "host", 5)
	require.Empty(t, claims, "nothing is committed")
	require.NoError(t, hosts[1].Commit(t.Context())) // the later one first
	require.Equal(t, "1", claimable(t, other, "host", 1)[0].Job.Kind)
	require.NoError(t, hosts[0].Commit(t.Context()))
	require.Equal(t, "0", claimable(t, db, "host", 1)[0].Job.Kind)
	agree(t, url)
}

// Many jobs of one transaction are moved in several, in their order, each once,
// whichever store does it.
func TestManyOfAHost(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	at(t, url)
	host := connect(t, url)
	const n = 1203
	jobs := make([]queue.Job, n)
	for i := range jobs {
		jobs[i] = queue.Job{Pool: "p", Kind: fmt.Sprint(i)}
	}
	require.NoError(t, pgx.BeginFunc(t.Context(), host, func(tx pgx.Tx) error { return db.WithTx(tx).Put(t.Context(), jobs...) }))
	claims := claimable(t, db, "p", n)
	require.Len(t, claims, n)
	for i, c := range claims {
		require.Equal(t, fmt.Sprint(i), c.Job.Kind)
	}
	agree(t, url)
}

// A job that no table takes is refused where it is put: behind it others would wait for ever.
func TestJobTooLongForTheQueue(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	long := fmt.Sprint(rand.Perm(5000))
	for _, bad := range []queue.Job{{Pool: long}, {Pool: "p", Key: long}, {Pool: "p", DedupeKey: long}} {
		err := pgx.BeginFunc(t.Context(), connect(t, url), func(tx pgx.Tx) error { return db.WithTx(tx).Put(t.Context(), bad) })
		require.ErrorContains(t, err, "job 0")
	}
}
