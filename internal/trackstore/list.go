package trackstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

func (s *Store) Known(ctx context.Context, tracks ...gpstracks.Track) ([]gpstracks.Track, error) {
	keys := make([]string, len(tracks))
	for i := range tracks {
		keys[i] = tracks[i].Key
	}
	known, err := read(ctx, s, scanTrack, knownTracks+"dedupe_key in @1", keys)
	if err != nil {
		return nil, err
	}
	exact := map[string]bool{}
	for i := range known {
		exact[known[i].Key] = true
	}
	var marks []int64
	for i := range tracks {
		if !exact[tracks[i].Key] {
			marks = append(marks, tracks[i].Cells.Marks()...)
		}
	}
	alike, err := read(ctx, s, scanTrack, knownTracks+"id in (select track_id from ~track_marks where mark in @1)", marks)
	known = append(known, alike...)
	slices.SortFunc(known, func(a, b gpstracks.Track) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(known, func(a, b gpstracks.Track) bool { return a.ID == b.ID }), err
}

func (s *Store) Count(ctx context.Context) (int, error) {
	return one[int](ctx, s, "select count(*) from ~tracks")
}

const (
	fewTracks = 4000   // tracks up to which it is faster to find them by place and then order them
	listPage  = 512    // places that are read at a time otherwise
	readPage  = 64     // tracks that are read at a time
	lookPage  = 20_000 // places that are looked at for those of a list
)

// List implements gpstracks.Store. It holds no transaction while it yields: a reader who is
// slow keeps nothing from being tidied.
func (s *Store) List(ctx context.Context, f gpstracks.Filter) iter.Seq2[gpstracks.Track, error] {
	return func(yield func(gpstracks.Track, error) bool) {
		n := 0
		for places, err := range s.places(ctx, f) {
			for part := range slices.Chunk(places, readPage) {
				var tracks []gpstracks.Track
				if tracks, err = s.tracks(ctx, part); err != nil {
					break
				}
				for i := range tracks {
					if !f.Match(&tracks[i]) {
						continue
					}
					if n++; !yield(tracks[i], nil) || n == f.Limit {
						return
					}
				}
			}
			if err != nil {
				yield(gpstracks.Track{}, err)
				return
			}
		}
	}
}

// tracks reads tracks in the order of their places. One that was removed meanwhile is left out.
func (s *Store) tracks(ctx context.Context, places []gpstracks.Cursor) ([]gpstracks.Track, error) {
	ids := make([]int64, len(places))
	for i, c := range places {
		ids[i] = c.ID
	}
	out, err := read(ctx, s, scanTrack, fullTracks+"id in @1", ids)
	slices.SortFunc(out, func(a, b gpstracks.Track) int { return gpstracks.CompareCursors(a.Cursor(), b.Cursor()) })
	return out, err
}

// places yields the places of tracks that may pass the filter, in their order.
func (s *Store) places(ctx context.Context, f gpstracks.Filter) iter.Seq2[[]gpstracks.Cursor, error] {
	return func(yield func([]gpstracks.Cursor, error) bool) {
		if len(f.Bounds)+len(f.IDs) > 0 {
			var near []gpstracks.Cursor
			var n int
			var err error
			if len(f.IDs) == 0 {
				n, err = s.within(ctx, f.Bounds, fewTracks)
			}
			if err == nil && n <= fewTracks {
				near, err = s.page(ctx, f, s.Dialect.Touches, "")
			}
			if n <= fewTracks || err != nil {
				slices.SortFunc(near, gpstracks.CompareCursors)
				_ = yield(near, err)
				return
			}
		}
		const inside = "(max_lon >= $%d and max_lat >= $%d and min_lon <= $%d and min_lat <= $%d)"
		size := listPage
		if f.Limit > 0 {
			size = min(listPage, f.Limit)
		}
		for looked := 0; ; {
			after := gpstracks.Filter{After: f.After}
			among, args := passing(after, "")
			f.After = gpstracks.Cursor{}
			where, args := passing(f, inside, args...)
			page, err := s.cursors(ctx, fmt.Sprintf("select metres, id from (select metres, id, min_lon, max_lon, "+
				"min_lat, max_lat, activity, source from ~tracks where %s order by metres desc, id limit %d) k where "+
				"%s order by metres desc, id limit %d", among, lookPage, where, size), args...)
			if !yield(page, err) || err != nil {
				return
			}
			if len(page) < size { // that was all of the part
				if page, err = s.page(ctx, after, "", fmt.Sprint("order by metres desc, id limit 1 offset ", lookPage-1)); len(page) == 0 {
					_ = err == nil || yield(nil, err)
					return
				}
				if looked += lookPage; f.Look > 0 && looked >= f.Look {
					_ = yield(nil, &gpstracks.PartialError{After: page[0]})
					return
				}
			}
			f.After = page[len(page)-1]
		}
	}
}

// page is the places of tracks that may pass the filter.
func (s *Store) page(ctx context.Context, f gpstracks.Filter, touches, end string) ([]gpstracks.Cursor, error) {
	where, args := passing(f, touches)
	return s.cursors(ctx, "select metres, id from ~tracks where "+where+" "+end, args...)
}

func (s *Store) cursors(ctx context.Context, query string, args ...any) ([]gpstracks.Cursor, error) {
	return read(ctx, s, func(r *sql.Rows) (c gpstracks.Cursor, err error) { return c, r.Scan(&c.Metres, &c.ID) }, query, args...)
}

// CountMatching implements gpstracks.Counter, by the bounds of tracks.
func (s *Store) CountMatching(ctx context.Context, f gpstracks.Filter, most int) (int, error) {
	f.After = gpstracks.Cursor{}
	if n, err := s.within(ctx, f.Bounds, most); n > most || err != nil {
		return n, err
	}
	where, args := passing(f, s.Dialect.Touches)
	return one[int](ctx, s, "select count(*) from ~tracks where "+where, args...)
}

// within counts the tracks of boxes up to most, and one more for others: it reads no more than that.
func (s *Store) within(ctx context.Context, boxes []orb.Bound, most int) (int, error) {
	touches, limit := s.Dialect.Touches, fmt.Sprint(" limit ", most+1)
	if inner, ok := strings.CutPrefix(touches, "id in ("); ok { // it would be read whole before the limit without
		touches = "id in (" + strings.TrimSuffix(inner, ")") + limit + ")"
	}
	where, args := passing(gpstracks.Filter{Bounds: boxes}, touches)
	return one[int](ctx, s, "select count(*) from (select id from ~tracks where "+where+limit+") k", args...)
}

// passing is the condition of tracks that may pass a filter; touches is that of a box. Its parameters follow others.
func passing(f gpstracks.Filter, touches string, before ...any) (condition string, args []any) {
	args = before
	where := []string{"true"}
	among := func(n int, format string, list any) {
		if n > 0 {
			args = append(args, list)
			where = append(where, fmt.Sprintf(format, len(args)))
		}
	}
	names := make([]string, len(f.Activities))
	for i, a := range f.Activities {
		names[i] = string(a)
	}
	among(len(names), "activity in @%d", names)
	among(len(f.Sources), "source in @%d", f.Sources)
	among(len(f.Without), "not (source in @%d)", f.Without)
	among(len(f.IDs), "id in @%d", f.IDs)
	if f.After.ID != 0 {
		args = append(args, f.After.Metres, f.After.ID)
		n := len(args)
		where = append(where, fmt.Sprintf("metres <= $%d and (metres < $%d or id > $%d)", n-1, n-1, n))
	}
	var boxes []string
	for _, b := range f.Bounds {
		n := len(args)
		args = append(args, b.Min[0], b.Min[1], b.Max[0], b.Max[1])
		boxes = append(boxes, fmt.Sprintf(touches, n+1, n+2, n+3, n+4))
	}
	if len(boxes) > 0 {
		where = append(where, "("+strings.Join(boxes, " or ")+")")
	}
	return strings.Join(where, " and "), args
}

// keptChanges bounds the changes that are remembered for other processes.
const keptChanges = 10_000

// noteChanges remembers where maps look different now.
func (t *tx) noteChanges(changed []orb.Bound) error {
	if len(changed) == 0 {
		return nil
	}
	places := gpstracks.ByDegree(changed)
	err := t.insert("track_changes", []string{"min_lon", "min_lat", "max_lon", "max_lat"}, len(places), func(i int) []any {
		b := places[i]
		return []any{b.Min[0], b.Min[1], b.Max[0], b.Max[1]}
	})
	if err == nil {
		_, err = t.exec("delete from ~track_changes where id <= (select max(id) from ~track_changes) - $1", int64(keptChanges))
	}
	return err
}

// Changes returns the places where maps look different because of changes after the one with the number
// after, made by any process: for a tile cache. last is the number to ask with next time; a
// negative one requests it alone. When too much has changed to be remembered, the answer is
// the whole world.
func (s *Store) Changes(ctx context.Context, after int64) (changed []orb.Bound, last int64, err error) {
	ends, err := read(ctx, s, func(r *sql.Rows) (v [2]int64, err error) { return v, r.Scan(&v[0], &v[1]) },
		"select coalesce(max(id), 0), coalesce(min(id), 0) from ~track_changes")
	if err != nil {
		return nil, 0, err
	}
	last = ends[0][0]
	switch oldest := ends[0][1]; {
	case after < 0 || after >= last:
		return nil, last, nil
	case oldest > after+1:
		return []orb.Bound{{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}}, last, nil
	}
	changed, err = read(ctx, s, func(r *sql.Rows) (b orb.Bound, err error) {
		return b, r.Scan(&b.Min[0], &b.Min[1], &b.Max[0], &b.Max[1])
	},
		"select min_lon, min_lat, max_lon, max_lat from ~track_changes where id > $1 and id <= $2 order by id", after, last)
	return changed, last, err
}
