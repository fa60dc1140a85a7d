package tracksqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
)

func open(t testing.TB, o tracksqlite.Options) *tracksqlite.Tracks {
	t.Helper()
	s, err := tracksqlite.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func openTracks(t testing.TB) *tracksqlite.Tracks {
	t.Helper()
	return open(t, tracksqlite.Options{Path: filepath.Join(t.TempDir(), "a?b c", "x.db")})
}

func TestTracksConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Store { return openTracks(t) })
	storetest.Run(t, func(t *testing.T) storetest.Store { return storetest.Memory(t) })
}

// The tables are made once, by files named for their domain, and opening again changes nothing.
func TestTracksMigration(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := open(t, tracksqlite.Options{Path: path})
	_, err := s.Upsert(t.Context(), sample.Short(5, 7, 3))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	raw, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer raw.Close()
	look := func() (schema, applied string) {
		require.NoError(t, raw.QueryRowContext(t.Context(), `select (select group_concat(type || name || coalesce(sql, '')) from `+
			`sqlite_schema),
			(select group_concat(name || ' ' || applied_at) from schema_migrations)`).Scan(&schema, &applied))
		return schema, applied
	}
	schema, applied := look()
	require.Regexp(t, `^gps_tracks_001_init 20`, applied)
	n, err := open(t, tracksqlite.Options{Path: path}).Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 5, n)
	again, same := look()
	require.Equal(t, []string{schema, applied}, []string{again, same})
}
