package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
)

// Arrays are read by pgx, and by a server, as they were written.
func TestArrays(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), pgtest.Open(t))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	quickArrays(conn)
	for _, name := range []string{"_int8", "_text", "_bytea", "_timestamptz"} {
		typ, ok := conn.TypeMap().TypeForName(name)
		require.True(t, ok)
		require.NotPanics(t, func() { _ = typ.Codec.(pgtype.EncodePlan) }, "%s is written by ours", name)
	}
	moments := rapid.Custom(func(t *rapid.T) *time.Time {
		if rapid.Bool().Draw(t, "null") {
			return nil
		}
		at := time.UnixMicro(rapid.Int64Range(-60_000_000_000_000_000, 60_000_000_000_000_000).Draw(t, "micros")).UTC()
		return &at
	})
	texts := rapid.StringMatching(`[^\x00]*`)
	bytes := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Just([]byte(nil)))
	rapid.Check(t, func(r *rapid.T) {
		ints, words := rapid.SliceOf(rapid.Int64()).Draw(r, "ints"), rapid.SliceOf(texts).Draw(r, "texts")
		times, blobs := rapid.SliceOf(moments).Draw(r, "times"), rapid.SliceOf(bytes).Draw(r, "bytes")
		var gotInts []int64
		var gotWords []string
		var gotTimes []*time.Time
		var gotBlobs [][]byte
		row := conn.QueryRow(t.Context(), "select $1::bigint[], $2::text[], $3::timestamptz[], $4::bytea[]", ints, words, times, blobs)
		require.NoError(r, row.Scan(&gotInts, &gotWords, &gotTimes, &gotBlobs))
		require.Equal(r, ints, gotInts)
		require.Equal(r, words, gotWords)
		require.Equal(r, blobs, gotBlobs)
		require.Len(r, gotTimes, len(times))
		for i, at := range times {
			require.Equal(r, at == nil, gotTimes[i] == nil)
			require.True(r, at == nil || at.Equal(*gotTimes[i]))
		}
	})
	var none *int
	require.NoError(t, conn.QueryRow(t.Context(), "select cardinality($1::bigint[])", []int64(nil)).Scan(&none))
	require.Nil(t, none, "no slice is null, as with pgx")
}
