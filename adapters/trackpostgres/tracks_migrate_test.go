package trackpostgres_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/trackpostgres"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

// The migration is applied once, and may be applied again: what it would make is
// there. One collector at a time is at work, in whatever process.
func TestTracksMigration(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	s := open(t, trackpostgres.Options{URL: url})
	_, err := s.Upsert(t.Context(), sample.Short(5, 7, 3))
	require.NoError(t, err)
	_, err = s.SaveRun(t.Context(), gpstracks.Run{Source: "osm", Rejected: 2})
	require.NoError(t, err)
	c := admin(t, url)
	var applied string
	require.NoError(t, c.QueryRow(t.Context(), "select string_agg(name, ' ') from signalbox.schema_migrations").Scan(&applied))
	require.Equal(t, "gps_tracks_001_init gps_tracks_002_later gps_tracks_003_reasons gps_tracks_004_state gps_tracks_005_measures "+
		"gps_tracks_006_privacy gps_tracks_007_cells", applied)
	_, err = c.Exec(t.Context(), "delete from signalbox.schema_migrations; alter table signalbox.pipeline_runs drop column "+
		"rejected_for, drop column changed_for")
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			db, err := trackpostgres.Open(t.Context(), trackpostgres.Options{URL: url, AllowUnsafe: true})
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			if err := db.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	wg.Wait()
	other := open(t, trackpostgres.Options{URL: url})
	n, err := other.Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 5, n)
	runs, err := other.LastRuns(t.Context())
	require.NoError(t, err)
	require.Equal(t, []gpstracks.Run{{ID: 1, Source: "osm", Rejected: 2}}, runs, "runs of the older layout stay")

	unlock, err := s.Alone(t.Context())
	require.NoError(t, err)
	_, err = other.Alone(t.Context())
	require.ErrorContains(t, err, "another collector is at work in schema")
	require.NoError(t, unlock())
	unlock, err = other.Alone(t.Context())
	require.NoError(t, err)
	require.NoError(t, unlock())
}
