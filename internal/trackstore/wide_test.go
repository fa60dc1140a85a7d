package trackstore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
)

// A list of the world, its number, and a list of what there is none of, read as many rows of twice the tracks.
func TestWideListReads(t *testing.T) {
	t.Parallel()
	e := engines()["PostgreSQL"] // whose server counts what statements read
	e.where = e.place(t)
	e.raw = e.query(t, e.where)
	defer e.raw.Close()
	world := gpstracks.Filter{Bounds: []orb.Bound{{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}}, Limit: 10}
	counted := func() (n int) {
		require.NoError(t, e.raw.QueryRowContext(t.Context(), `select (select coalesce(sum(seq_tup_read + idx_tup_fetch), 0) from pg_stat_user_tables
			where relname = 'tracks') + (select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes where relname = 'tracks')`).Scan(&n))
		return n
	}
	with := func(work func(s store)) int { // a connection has written what it has counted when it has ended
		before := counted()
		s, err := e.open(t.Context(), e.where)
		require.NoError(t, err)
		work(s)
		require.NoError(t, s.Close())
		require.Eventually(t, func() (ended bool) {
			require.NoError(t, e.raw.QueryRowContext(t.Context(), `select not exists (select from pg_stat_activity
				where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid())`).Scan(&ended))
			return ended
		}, time.Minute, 10*time.Millisecond)
		return counted() - before
	}
	var lists, numbers, rares []int
	rare := world
	rare.Activities, rare.Look = []gpstracks.Activity{gpstracks.Boating}, 20_000
	for seed := range 2 {
		with(func(s store) {
			for part := range slices.Chunk(sample.Short(20_000, uint64(seed), 3), 1000) {
				upsert(t, s, part)
			}
		})
		e.execute(t, "alter table tracks set (autovacuum_enabled = false); analyze tracks")
		lists = append(lists, with(func(s store) { require.Len(t, storetest.All(t, s, world), 10) }))
		numbers = append(numbers, with(func(s store) {
			n, err := s.(gpstracks.Counter).CountMatching(t.Context(), world, 1000)
			require.NoError(t, err)
			require.Equal(t, 1001, n)
		}))
		rares = append(rares, with(func(s store) {
			var partial *gpstracks.PartialError
			for _, err := range s.List(t.Context(), rare) {
				require.ErrorAs(t, err, &partial)
			}
			require.NotNil(t, partial)
		}))
	}
	s := e.reopen(t)
	for parts := 0; ; parts++ {
		var partial *gpstracks.PartialError
		for _, err := range s.List(t.Context(), rare) {
			require.ErrorAs(t, err, &partial)
		}
		if partial == nil {
			require.Equal(t, 2, parts, "40,000 tracks are two parts")
			break
		}
		require.NotEqual(t, rare.After, partial.After)
		rare.After = partial.After
	}
	var shortest int64
	require.NoError(t, e.raw.QueryRowContext(t.Context(), "select id from tracks order by metres limit 1").Scan(&shortest))
	require.Len(t, storetest.All(t, s, gpstracks.Filter{IDs: []int64{shortest}, Look: rare.Look}), 1, "found by its id")
	t.Log(lists, numbers, rares)
	require.Less(t, rares[1], rares[0]*11/10)
	require.Positive(t, lists[0])
	require.Less(t, lists[1], lists[0]*11/10)
	require.Less(t, numbers[1], numbers[0]*11/10)
}
