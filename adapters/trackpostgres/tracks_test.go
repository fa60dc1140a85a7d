package trackpostgres_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/trackpostgres"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

func open(t testing.TB, o trackpostgres.Options) *trackpostgres.Tracks {
	t.Helper()
	o.AllowUnsafe = true
	s, err := trackpostgres.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestTracksConformance(t *testing.T) {
	t.Parallel()
	url, n := pgtest.Open(t), 0
	storetest.Run(t, func(t *testing.T) storetest.Store {
		n++
		return open(t, trackpostgres.Options{URL: url, Schema: fmt.Sprintf("s%d", n)})
	})
}

// admin is a connection past the store.
func admin(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// The connection breaks at every message in turn, before the server has it and
// after: every call succeeds or says that it did not, and nothing is half done.
func TestTracksLostAnswers(t *testing.T) {
	t.Parallel()
	server := pgtest.Open(t)
	w, url := pgtest.NewWire(t, server)
	s := open(t, trackpostgres.Options{URL: url})
	direct := open(t, trackpostgres.Options{URL: server})
	tracks := sample.Short(300, 7, 3)
	for i, part := range slices.Collect(slices.Chunk(tracks, 10)) {
		w.Deliver.Store([]int64{pgtest.AtOnce, pgtest.Never}[i%2])
		w.Left.Store(int64(i/2) + 1)
		u, err := s.Upsert(t.Context(), part)
		w.Left.Store(-1)
		require.NoError(t, err)
		require.Equal(t, []int{10, 0, 0}, []int{u.Inserted, u.Updated, u.Duplicates}, "call %d", i)
		n, err := direct.Count(t.Context())
		require.NoError(t, err)
		require.Equal(t, 10*(i+1), n)
	}
	require.Greater(t, w.Cuts.Load(), int64(10))
	storetest.RequireShows(t, direct, gpstracks.PlanUpsert(tracks, nil).New)
	for i := range 12 {
		var ids []int64
		for k, err := range direct.List(t.Context(), gpstracks.Filter{Limit: 5}) {
			require.NoError(t, err)
			ids = append(ids, k.ID)
		}
		w.Deliver.Store([]int64{pgtest.AtOnce, pgtest.Never}[i%2])
		w.Left.Store(int64(i/2) + 1)
		changed, err := s.Remove(t.Context(), ids...)
		w.Left.Store(-1)
		require.NoError(t, err)
		require.Len(t, changed, 5)
	}
	n, err := direct.Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 300-60, n)
}

// Whoever gives up is not waited for, and neither is the query: the server ends
// it.
func TestTracksCancelled(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	s := open(t, trackpostgres.Options{URL: url})
	tracks := sample.Short(20, 7, 3)
	_, err := s.Upsert(t.Context(), tracks[:10])
	require.NoError(t, err)
	c, watch := admin(t, url), admin(t, url)
	running := func() (n int) {
		require.NoError(t, watch.QueryRow(t.Context(), `select count(*) from pg_stat_activity where datname = current_database() and `+
			`wait_event_type = 'Lock'
			and query not like '%group by level, tier%'`).Scan(&n)) // what puts blocks together may look at them late
		return n
	}
	wait := func(want int) {
		for running() != want { // the server sets the pace
			_, err := watch.Exec(t.Context(), "select pg_sleep(0.01)")
			require.NoError(t, err)
		}
	}
	for name, call := range map[string]func(context.Context) error{
		"count":  func(ctx context.Context) error { _, err := s.Count(ctx); return err },
		"upsert": func(ctx context.Context) error { _, err := s.Upsert(ctx, tracks[10:]); return err },
		"remove": func(ctx context.Context) error { _, err := s.Remove(ctx, 1); return err },
		"runs":   func(ctx context.Context) error { _, err := s.LastRuns(ctx); return err },
		"list": func(ctx context.Context) error {
			for _, err := range s.List(ctx, gpstracks.Filter{}) {
				return err
			}
			return nil
		},
		"blocks": func(ctx context.Context) error {
			return s.Blocks(ctx, 9, tile.ID{Z: 9}.Window(), func([]byte) error { return nil })
		},
	} {
		lock, err := c.Begin(t.Context())
		require.NoError(t, err)
		_, err = lock.Exec(t.Context(), "lock table signalbox.tracks, signalbox.track_blocks, signalbox.pipeline_runs in access "+
			"exclusive mode")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- call(ctx) }()
		wait(1)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled, name)
		wait(0)
		require.NoError(t, lock.Rollback(t.Context()))
	}
	n, err := s.Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 10, n)
}
