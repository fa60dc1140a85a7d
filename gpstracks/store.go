package gpstracks

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/paulmach/orb"
)

// Filter selects tracks.
type Filter struct {
	Bounds     []orb.Bound // tracks with a line whose bounds touch one of these; none = everywhere
	Activities []Activity  // none = all
	Sources    []string    // none = all
	Without    []string    // sources that do not pass
	IDs        []int64     // none = all
	After      Cursor      // only tracks that come after it
	Limit      int         // at most this many; 0 = all
	Look       int         // about so many are looked at, then a list ends with a *PartialError; 0 = all
}

// PartialError ends a list that has looked at as many tracks as its filter allows.
type PartialError struct{ After Cursor }

// Error says how to go on.
func (e *PartialError) Error() string {
	return "gps tracks: there may be more: list those after the cursor"
}

// Match reports whether a track passes the filter, its limit left aside.
func (f Filter) Match(t *Track) bool {
	return (len(f.Activities) == 0 || slices.Contains(f.Activities, t.Activity)) &&
		f.HasSource(t.Source) &&
		(len(f.IDs) == 0 || slices.Contains(f.IDs, t.ID)) &&
		(len(f.Bounds) == 0 || slices.ContainsFunc(f.Bounds, t.touches)) &&
		(f.After.ID == 0 || CompareCursors(f.After, t.Cursor()) < 0)
}

// HasSource reports whether tracks of a source pass.
func (f Filter) HasSource(name string) bool {
	return (len(f.Sources) == 0 || slices.Contains(f.Sources, name)) && !slices.Contains(f.Without, name)
}

// touches looks at the lines too: the bounds of a track that was cut at the
// antimeridian go round the earth.
func (t *Track) touches(b orb.Bound) bool {
	return t.Bounds.Intersects(b) &&
		(len(t.Lines) == 1 || slices.ContainsFunc(t.Lines, func(l orb.LineString) bool { return l.Bound().Intersects(b) }))
}

// Cursor is a track's place in the order of a list: the longest first, and of
// equal ones the oldest id. The zero value is before every track.
type Cursor struct {
	Metres int64 // the length, rounded to whole metres
	ID     int64
}

// Cursor is the place of the track.
func (t *Track) Cursor() Cursor { return Cursor{int64(t.LengthM + 0.5), t.ID} }

// CompareCursors orders two places: negative if a comes first.
func CompareCursors(a, b Cursor) int {
	return cmp.Or(cmp.Compare(b.Metres, a.Metres), cmp.Compare(a.ID, b.ID))
}

// Upserted reports what became of the tracks of one call.
type Upserted struct {
	Inserted   int         // tracks that were new
	Updated    int         // known tracks with something new
	Duplicates int         // known tracks and nothing else
	Changed    []orb.Bound // where a map looks different now
	Screened               // of a ZoneStore and a RemovalStore: counted before all others
}

// Store keeps tracks. It is safe for concurrent use. Tracks that it is given
// have passed Prepare; those that it hands out are not changed afterwards, by
// either side. Package gpstracks/storetest is its suite.
type Store interface {
	// Upsert keeps tracks. One that is the same as a known one, as PlanUpsert judges, makes no second
	// track: the first keeps its id, and takes of its own source a later run's attribution, and a name, an
	// address, an activity, times, an elevation or points that it lacked; see Merge. A small call is one transaction, a large
	// one may be several, in order: with an error comes what was kept before it. A track whose Key is empty
	// is an *InvalidError, and nothing is kept.
	Upsert(ctx context.Context, tracks []Track) (Upserted, error)
	// List yields the tracks that pass, in the order of Cursor. It ends with an
	// error if the store fails or ctx ends, and may be broken off.
	List(ctx context.Context, f Filter) iter.Seq2[Track, error]
	// Known are the stored tracks of which one may be the same as one of these, by id, with what PlanUpsert
	// looks at.
	Known(ctx context.Context, tracks ...Track) ([]Track, error)
	// Count is the number of tracks.
	Count(ctx context.Context) (int, error)
	// Remove deletes tracks by id and returns where a map looks different now.
	// An unknown id is no error.
	Remove(ctx context.Context, ids ...int64) ([]orb.Bound, error)
}

// Counter is a Store that can count how many tracks pass a filter, its After and
// Limit left aside, without reading them: a track of several lines may count where
// only its bounds are. It counts up to most, and a greater number says that its boxes hold more. A list then
// says of how many tracks it shows a part.
type Counter interface {
	CountMatching(ctx context.Context, f Filter, most int) (int, error)
}

// Versioned is a Store that has a text for its state, which is another one after each change of
// what List yields.
type Versioned interface {
	Version(ctx context.Context) (string, error)
}

// Merge returns the track to keep of a known one that was brought again: the known one with a later run's attribution and
// what it lacked. Another source changes nothing: a track has one licence, and goes when its own source has it no more.
// told reports that people see it otherwise, and so it counts as updated.
func Merge(known, again Track) (merged Track, told bool) {
	if merged = known; again.Source != known.Source {
		return merged, false
	}
	if known.StartedAt.IsZero() && again.Points > known.Points { // a zone that was forgotten has taken the rest, with the times
		merged, again, told = again, known, true
		merged.ID, merged.FirstSeenAt = known.ID, known.FirstSeenAt
	}
	fill := func(to *string, from string) {
		if *to == "" && from != "" {
			*to, told = from, true
		}
	}
	fill(&merged.Name, again.Name)
	fill(&merged.URL, again.URL)
	fill(&merged.Attribution, again.Attribution)
	if again.RunID != known.RunID && again.Attribution != "" && again.Attribution != merged.Attribution { // its record was corrected
		merged.Attribution, told = again.Attribution, true
	}
	if merged.Activity == Unknown && again.Activity != Unknown {
		merged.Activity, merged.ActivityFrom, told = again.Activity, again.ActivityFrom, true
	}
	if merged.ActivityFrom == "" && again.ActivityFrom != "" && merged.Activity == again.Activity {
		merged.ActivityFrom, told = again.ActivityFrom, true
	}
	if merged.RecordedOn.IsZero() && !again.RecordedOn.IsZero() {
		merged.RecordedOn, told = again.RecordedOn, true
	}
	if merged.StartedAt.IsZero() && !again.StartedAt.IsZero() {
		merged.StartedAt, merged.EndedAt, merged.Moving, told = again.StartedAt, again.EndedAt, again.Moving, true
	}
	if merged.Elevation == nil && again.Elevation != nil {
		merged.Elevation, told = again.Elevation, true
	}
	if again.LastSeenAt.After(merged.LastSeenAt) {
		merged.LastSeenAt, merged.RunID = again.LastSeenAt, again.RunID
	}
	return merged, told
}

// ByDegree puts changed places together: one rectangle for each square degree
// that holds the middle of some, from the south-west.
func ByDegree(changed []orb.Bound) []orb.Bound {
	cells := map[[2]float64]orb.Bound{}
	for _, b := range changed {
		center := b.Center()
		cell := [2]float64{math.Floor(center[1]), math.Floor(center[0])}
		if known, ok := cells[cell]; ok {
			b = b.Union(known)
		}
		cells[cell] = b
	}
	out := make([]orb.Bound, 0, len(cells))
	for _, cell := range slices.SortedFunc(maps.Keys(cells), func(a, b [2]float64) int { return slices.Compare(a[:], b[:]) }) {
		out = append(out, cells[cell])
	}
	return out
}
