package postgres

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// fullTracks reads tracks by id.
const fullTracks = `select id, source, external_id, name, activity, url, attribution, min_lon, min_lat, max_lon, max_lat, length_m,
	recorded_on, dedupe_key, points, first_seen_at, last_seen_at, run_id, coalesce(k.geometry, g.geometry)
	from ~tracks k left join ~track_geometries g on track_id = id where id = any($1) and (k.geometry is not null or g.geometry is not null)`

func scanTrack(row pgx.CollectableRow) (k gpstracks.Track, err error) {
	at := make([]*time.Time, 3)
	b := &k.Bounds
	var geometry []byte
	err = row.Scan(&k.ID, &k.Source, &k.ExternalID, &k.Name, &k.Activity, &k.URL, &k.Attribution, &b.Min[0], &b.Min[1], &b.Max[0], &b.Max[1], &k.LengthM,
		&at[0], &k.Key, &k.Points, &at[1], &at[2], &k.RunID, &geometry)
	if err != nil {
		return k, err
	}
	times(at, &k.RecordedOn, &k.FirstSeenAt, &k.LastSeenAt)
	k.Lines, err = gpstracks.ParseLines(geometry)
	return k, err
}

// knownTracks reads what Merge looks at, by the index, however many keys there are.
const knownTracks = `select k.* from unnest($1::text[]) u(key) cross join lateral (
	select id, dedupe_key, name, url, attribution, activity, last_seen_at, run_id from ~tracks where dedupe_key = u.key offset 0) k`

func scanKnownTrack(row pgx.CollectableRow) (k gpstracks.Track, err error) {
	at := make([]*time.Time, 1)
	err = row.Scan(&k.ID, &k.Key, &k.Name, &k.URL, &k.Attribution, &k.Activity, &at[0], &k.RunID)
	times(at, &k.LastSeenAt)
	return k, err
}

// Known implements gpstracks.Store.
func (s *Tracks) Known(ctx context.Context, keys ...string) ([]string, error) {
	return ask(ctx, s, pgx.RowTo[string], "select dedupe_key from ~tracks where dedupe_key = any($1)", fresh, keys)
}

// Count implements gpstracks.Store.
func (s *Tracks) Count(ctx context.Context) (int, error) {
	n, err := ask(ctx, s, pgx.RowTo[int64], "select count(*) from ~tracks")
	if err != nil {
		return 0, err
	}
	return int(n[0]), nil
}

const (
	fewTracks = 20_000 // tracks up to which it is faster to find them by place and then order them
	listPage  = 512    // places that are read at a time otherwise
	readPage  = 64     // tracks that are read at a time
)

// List implements gpstracks.Store. It holds no transaction while it yields: a
// reader who is slow keeps nothing from being tidied.
func (s *Tracks) List(ctx context.Context, f gpstracks.Filter) iter.Seq2[gpstracks.Track, error] {
	return func(yield func(gpstracks.Track, error) bool) {
		n := 0
		for c, err := range s.places(ctx, f) {
			var tracks []gpstracks.Track
			if err == nil {
				tracks, err = s.tracks(ctx, c)
			}
			if err != nil {
				yield(gpstracks.Track{}, ended(ctx, err))
				return
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
	}
}

// places yields the places of tracks that may pass the filter, in their order, as
// many at a time as are read at a time.
func (s *Tracks) places(ctx context.Context, f gpstracks.Filter) iter.Seq2[[]gpstracks.Cursor, error] {
	return func(yield func([]gpstracks.Cursor, error) bool) {
		if len(f.Bounds) > 0 {
			near, err := s.page(ctx, f, f.After, "limit", fewTracks+1)
			if len(near) <= fewTracks || err != nil {
				slices.SortFunc(near, gpstracks.Compare)
				_ = inParts(near, err, yield)
				return
			}
		}
		for after, more := f.After, true; more; {
			page, err := s.page(ctx, f, after, "order by metres desc, id limit", listPage)
			if !inParts(page, err, yield) {
				return
			}
			if more = len(page) == listPage; more {
				after = page[len(page)-1]
			}
		}
	}
}

// inParts yields what is read at a time; false = no more.
func inParts(all []gpstracks.Cursor, err error, yield func([]gpstracks.Cursor, error) bool) bool {
	if err != nil {
		yield(nil, err)
		return false
	}
	for part := range slices.Chunk(all, readPage) {
		if !yield(part, nil) {
			return false
		}
	}
	return true
}

// passing is the condition of tracks that may pass a filter, after one.
func passing(f gpstracks.Filter, after gpstracks.Cursor) (condition string, args []any) {
	where := []string{"true"}
	and := func(text string, values ...any) {
		for range values {
			text = strings.Replace(text, "?", fmt.Sprintf("$%d", len(args)+1), 1)
			args, values = append(args, values[0]), values[1:]
		}
		where = append(where, text)
	}
	if len(f.Activities) > 0 {
		names := make([]string, len(f.Activities))
		for i, a := range f.Activities {
			names[i] = string(a)
		}
		and("activity = any(?)", names)
	}
	if len(f.Sources) > 0 {
		and("source = any(?)", f.Sources)
	}
	if after.ID != 0 {
		and("metres <= ? and (metres < ? or id > ?)", after.Metres, after.Metres, after.ID)
	}
	if len(f.Bounds) > 0 {
		and("("+strings.Repeat("box(point(min_lon, min_lat), point(max_lon, max_lat)) && ? or ", len(f.Bounds)-1)+
			"box(point(min_lon, min_lat), point(max_lon, max_lat)) && ?)", boxes(f.Bounds)...)
	}
	return strings.Join(where, " and "), args
}

// page is the places of tracks that may pass the filter, after one.
func (s *Tracks) page(ctx context.Context, f gpstracks.Filter, after gpstracks.Cursor, end string, limit int) ([]gpstracks.Cursor, error) {
	where, args := passing(f, after)
	return ask(ctx, s, func(row pgx.CollectableRow) (c gpstracks.Cursor, err error) { return c, row.Scan(&c.Metres, &c.ID) },
		fmt.Sprintf("select metres, id from ~tracks where %s %s %d", where, end, limit), args...)
}

// CountMatching implements gpstracks.Counter, by the bounds of tracks.
func (s *Tracks) CountMatching(ctx context.Context, f gpstracks.Filter) (int, error) {
	where, args := passing(f, gpstracks.Cursor{})
	n, err := ask(ctx, s, pgx.RowTo[int64], "select count(*) from ~tracks where "+where, args...)
	if err != nil {
		return 0, ended(ctx, err)
	}
	return int(n[0]), nil
}

func boxes(bounds []orb.Bound) (out []any) {
	for _, b := range bounds {
		out = append(out, pgtype.Box{P: [2]pgtype.Vec2{{X: b.Max[0], Y: b.Max[1]}, {X: b.Min[0], Y: b.Min[1]}}, Valid: true})
	}
	return out
}

// tracks reads tracks with their lines, in the order of their places. One that was
// removed meanwhile is left out.
func (s *Tracks) tracks(ctx context.Context, places []gpstracks.Cursor) ([]gpstracks.Track, error) {
	ids := make([]int64, len(places))
	for i, c := range places {
		ids[i] = c.ID
	}
	out, err := ask(ctx, s, scanTrack, fullTracks, ids)
	slices.SortFunc(out, func(a, b gpstracks.Track) int { return gpstracks.Compare(a.Cursor(), b.Cursor()) })
	return out, err
}

// ended is the error of a query: that of ctx if it ended the query.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
