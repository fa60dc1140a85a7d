package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"strings"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// fullTracks reads tracks with their lines.
const fullTracks = `select id, source, external_id, name, activity, url, attribution, min_lon, min_lat, max_lon, max_lat, length_m,
	recorded_on, dedupe_key, points, first_seen_at, last_seen_at, run_id, coalesce(k.geometry, g.geometry)
	from tracks k left join track_geometries g on track_id = id and k.geometry is null `

func scanFull(r scanner) (k gpstracks.Track, err error) {
	us := make([]int64, 3)
	b := &k.Bounds
	var geometry []byte
	err = r.Scan(
		&k.ID, &k.Source, &k.ExternalID, &k.Name, &k.Activity, &k.URL, &k.Attribution, &b.Min[0], &b.Min[1], &b.Max[0], &b.Max[1], &k.LengthM,
		&us[0], &k.Key, &k.Points, &us[1], &us[2], &k.RunID, &geometry)
	if err != nil {
		return k, err
	}
	times(us, &k.RecordedOn, &k.FirstSeenAt, &k.LastSeenAt)
	k.Lines, err = gpstracks.ParseLines(geometry)
	return k, err
}

// fullTrack reads one track.
func (t *tx) fullTrack(id int64) (k gpstracks.Track, ok bool, err error) {
	s, err := t.stmt(fullTracks + "where id = ?")
	if err != nil {
		return k, false, err
	}
	k, err = scanFull(s.QueryRowContext(t.ctx, id))
	if errors.Is(err, sql.ErrNoRows) {
		return k, false, nil
	}
	return k, err == nil, err
}

// Known implements gpstracks.Store.
func (s *Tracks) Known(ctx context.Context, keys ...string) ([]string, error) {
	rows, err := s.db.read.QueryContext(ctx, "select dedupe_key from tracks where dedupe_key in (select value from json_each(?))", jsonList(keys))
	out, err := collect(rows, err, func(r *sql.Rows) (key string, err error) { return key, r.Scan(&key) })
	return out, ended(ctx, err)
}

// Count implements gpstracks.Store.
func (s *Tracks) Count(ctx context.Context) (n int, err error) {
	err = s.db.read.QueryRowContext(ctx, "select count(*) from tracks").Scan(&n)
	return n, ended(ctx, err)
}

const (
	fewTracks = 4000 // tracks up to which it is faster to find them by place and then order them
	listPage  = 512  // ids that are read at a time otherwise
)

// List implements gpstracks.Store. It holds no read transaction while it yields:
// a reader who is slow keeps nothing from being tidied.
func (s *Tracks) List(ctx context.Context, f gpstracks.Filter) iter.Seq2[gpstracks.Track, error] {
	return func(yield func(gpstracks.Track, error) bool) {
		n, after := 0, f.After
		near, few, err := s.near(ctx, f.Bounds)
		for more := true; more && err == nil; {
			var page []gpstracks.Cursor
			if page, err = s.page(ctx, f, near, few, after); err != nil {
				break
			}
			more = !few && len(page) == listPage
			for _, c := range page {
				after = c
				var t gpstracks.Track
				var ok bool
				if t, ok, err = s.get(ctx, c.ID); err != nil {
					break
				}
				if !ok || !f.Match(&t) {
					continue
				}
				if n++; !yield(t, nil) || n == f.Limit {
					return
				}
			}
		}
		if err != nil {
			yield(gpstracks.Track{}, ended(ctx, err))
		}
	}
}

// touching finds the tracks whose bounds touch edges. Those that are in no block yet
// are not in the R*Tree either.
const touching = `select id from track_bounds where min_lon <= ? and max_lon >= ? and min_lat <= ? and max_lat >= ?
	union all select k.id from track_unbuilt u cross join tracks k on k.id between u.first_id and u.last_id
	where k.min_lon <= ? and k.max_lon >= ? and k.min_lat <= ? and k.max_lat >= ?`

func edges(b orb.Bound) []any {
	return []any{b.Max[0], b.Min[0], b.Max[1], b.Min[1], b.Max[0], b.Min[0], b.Max[1], b.Min[1]}
}

// near finds the tracks at some places, unless there are too many of them.
func (s *Tracks) near(ctx context.Context, bounds []orb.Bound) (ids []int64, few bool, err error) {
	if len(bounds) == 0 {
		return nil, false, nil
	}
	for _, b := range bounds {
		rows, err := s.db.read.QueryContext(ctx, touching+" limit ?", append(edges(b), fewTracks+1)...)
		own, err := collect(rows, err, func(r *sql.Rows) (id int64, err error) { return id, r.Scan(&id) })
		if err != nil {
			return nil, false, err
		}
		if ids = append(ids, own...); len(ids) > fewTracks {
			return nil, false, nil
		}
	}
	return ids, true, nil
}

// page is the places of the next tracks that may pass the filter: of all if they
// are few.
func (s *Tracks) page(ctx context.Context, f gpstracks.Filter, near []int64, few bool, after gpstracks.Cursor) ([]gpstracks.Cursor, error) {
	where, args := kinds(f)
	and := func(text string, values ...any) { where, args = append(where, text), append(args, values...) }
	if after.ID != 0 {
		and("metres <= ? and (metres < ? or id > ?)", after.Metres, after.Metres, after.ID)
	}
	limit := -1
	if few {
		and("id in (select value from json_each(?))", jsonList(near))
	} else {
		limit = listPage
		if text, values := anywhere(f.Bounds); text != "" {
			and(text, values...)
		}
	}
	rows, err := s.db.read.QueryContext(ctx, "select metres, id from tracks where "+strings.Join(where, " and ")+" order by metres desc, id limit ?", append(args, limit)...)
	return collect(rows, err, func(r *sql.Rows) (c gpstracks.Cursor, err error) { return c, r.Scan(&c.Metres, &c.ID) })
}

// kinds are the conditions of a filter that are not about places.
func kinds(f gpstracks.Filter) (where []string, args []any) {
	where = []string{"true"}
	if len(f.Activities) > 0 {
		where, args = append(where, "activity in (select value from json_each(?))"), append(args, jsonList(f.Activities))
	}
	if len(f.Sources) > 0 {
		where, args = append(where, "source in (select value from json_each(?))"), append(args, jsonList(f.Sources))
	}
	return where, args
}

// CountMatching implements gpstracks.Counter, by the bounds of tracks.
func (s *Tracks) CountMatching(ctx context.Context, f gpstracks.Filter) (n int, err error) {
	where, args := kinds(f)
	var places []string
	for _, b := range f.Bounds {
		places = append(places, "id in ("+touching+")")
		args = append(args, edges(b)...)
	}
	if len(places) > 0 {
		where = append(where, "("+strings.Join(places, " or ")+")")
	}
	err = s.db.read.QueryRowContext(ctx, "select count(*) from tracks where "+strings.Join(where, " and "), args...).Scan(&n)
	return n, ended(ctx, err)
}

// anywhere is the condition of a track whose bounds touch any of some.
func anywhere(bounds []orb.Bound) (text string, args []any) {
	var parts []string
	for _, b := range bounds {
		parts = append(parts, "min_lon <= ? and max_lon >= ? and min_lat <= ? and max_lat >= ?")
		args = append(args, b.Max[0], b.Min[0], b.Max[1], b.Min[1])
	}
	if len(parts) == 0 {
		return "", nil
	}
	return "(" + strings.Join(parts, " or ") + ")", args
}

// get reads a track with its lines.
func (s *Tracks) get(ctx context.Context, id int64) (k gpstracks.Track, ok bool, err error) {
	k, err = scanFull(s.db.read.QueryRowContext(ctx, fullTracks+"where id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		return k, false, nil
	}
	return k, err == nil, err
}
