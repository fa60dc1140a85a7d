package trackstore_test

import (
	"math"
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
)

// rewritten is a track as another exporter writes it, without its first points.
func rewritten(t *testing.T, k gpstracks.Track) gpstracks.Track {
	t.Helper()
	var line orb.LineString
	for _, p := range k.Lines[0][3:] {
		line = append(line, orb.Point{math.Round(p[0]*1e5) / 1e5, math.Round(p[1]*1e5) / 1e5})
	}
	k.Lines, k.ExternalID = orb.MultiLineString{line}, ""
	k, err := gpstracks.Prepare(k)
	require.NoError(t, err)
	return k
}

// A database of the version before cells: its tracks are found by theirs, its removals go on keeping
// their tracks away, and once they have met them every copy. A reference acts where it was given as one,
// or as the number of an OSM trace, and not where it came with a track of a file.
func TestOlderDatabase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e engine) {
		s, tracks := e.reopen(t), sample.Tracks(40, 1)
		upsert(t, s, tracks[10:])
		for _, query := range []string{
			"drop index tracks_without_cells", "alter table tracks drop column cells", "drop table track_marks",
			"alter table track_removals drop column cells", "alter table track_removals drop column recorded_on",
			"alter table track_removals drop column length_m", "delete from schema_migrations where name like '%cells'",
			`insert into track_removals (dedupe_key, source, external_id, reason, removed_by, removed_at) values
				('62bb647709fc0158e8a16cf08c464703eaa580e6597c965ef139c6853bb88116', 'upload', 'index.html',
				'a wish', 'ann', ` + e.moment + `),
				('', 'club', '2', 'a wish', 'ann', ` + e.moment + `), ('none', 'osm', '4711', 'a wish', 'ann', ` + e.moment + `)`,
		} {
			e.execute(t, query)
		}
		s = e.reopen(t)
		removals := s.(gpstracks.RemovalStore)
		screened := func(k gpstracks.Track) gpstracks.Upserted {
			u := upsert(t, s, []gpstracks.Track{k})
			u.Changed, u.Learned = nil, nil
			return u
		}
		for _, k := range tracks[10:] {
			require.Equal(t, gpstracks.Upserted{Duplicates: 1}, screened(rewritten(t, k)))
		}
		gone := gpstracks.Upserted{Screened: gpstracks.Screened{Removed: 1}}
		require.Equal(t, gone, screened(tracks[0]), "by its key")
		require.Equal(t, gone, screened(rewritten(t, tracks[0])), "by the cells of the one before")
		require.Equal(t, gone, screened(tracks[2]), "by its reference")
		trace := tracks[3]
		trace.Source, trace.ExternalID = "osm", "4711"
		require.Equal(t, gone, screened(trace))
		other := tracks[4]
		other.Source, other.ExternalID = "upload", "index.html"
		require.Equal(t, gpstracks.Upserted{Inserted: 1}, screened(other), "a page is not a track")

		learned, err := removals.Removals(t.Context())
		require.NoError(t, err)
		require.Equal(t, tracks[0].Cells, learned[0].Cells)
		require.Empty(t, learned[0].OldKey)
		var marks int
		ids := []int64{}
		for _, k := range storetest.All(t, s, gpstracks.Filter{}) {
			ids = append(ids, k.ID)
		}
		remove(t, s, ids...)
		require.NoError(t, e.raw.QueryRowContext(t.Context(), "select count(*) from track_marks").Scan(&marks))
		require.Zero(t, marks)
	})
}

// What a newer program has laid out anew an older one that is still at work leaves alone: its blocks would break tiles for good.
func TestNewerLayout(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e engine) {
		s, tracks := e.reopen(t), sample.Tracks(20, 1)
		before, err := s.(gpstracks.Versioned).Version(t.Context())
		require.NoError(t, err)
		e.age(t)
		after, err := e.reopen(t).(gpstracks.Versioned).Version(t.Context())
		require.NoError(t, err)
		require.NotEqual(t, before, after, "what was computed before is not written")
		upsert(t, s, tracks[:10])
		e.execute(t, "update track_state set value = value + 1 where name = 'blocks version'")
		_, err = s.Upsert(t.Context(), tracks[10:])
		require.ErrorContains(t, err, "another program")
		require.Len(t, storetest.All(t, s, gpstracks.Filter{}), 10)
	})
}
