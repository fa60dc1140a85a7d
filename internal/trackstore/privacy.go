package trackstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"reflect"
	"slices"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

var _ gpstracks.PrivateStore = (*Store)(nil)

func (s *Store) Zones(ctx context.Context) ([]gpstracks.Zone, error) {
	return read(ctx, s, func(r *sql.Rows) (z gpstracks.Zone, err error) {
		return z, r.Scan(&z.Name, &z.Center[0], &z.Center[1], &z.RadiusM, &z.Secret, when{&z.MadeAt})
	}, "select name, lon, lat, radius_m, secret, made_at from ~track_zones order by name")
}

func (s *Store) Removals(ctx context.Context) ([]gpstracks.Removal, error) {
	return read(ctx, s, func(r *sql.Rows) (m gpstracks.Removal, err error) {
		var cells []byte
		if err = r.Scan(&m.ID, &m.OldKey, &m.Source, &m.ExternalID, &m.Reason, &m.By, when{&m.At}, &cells, when{&m.RecordedOn},
			&m.LengthM); err == nil {
			m.Cells, err = gpstracks.ParseCells(cells)
		}
		return m, err
	}, "select id, dedupe_key, source, external_id, reason, removed_by, removed_at, cells, recorded_on, length_m from ~track_removals "+
		"order by id")
}

// screen returns the tracks that may be kept.
func (s *Store) screen(ctx context.Context, tracks []gpstracks.Track) ([]gpstracks.Track, gpstracks.Screened, error) {
	zones, err := s.Zones(ctx)
	if err != nil {
		return nil, gpstracks.Screened{}, err
	}
	removals, err := s.Removals(ctx)
	kept, screened := gpstracks.Screen(tracks, zones, removals)
	for _, r := range screened.Learned {
		if err == nil {
			err = s.write(ctx, func(t *tx) error {
				_, err := t.exec("update ~track_removals set (dedupe_key, source, external_id, cells, recorded_on, length_m) = "+
					"('', '', '', $1, $2, $3) where id = $4", gpstracks.AppendCells(nil, r.Cells), r.RecordedOn, r.LengthM, r.ID)
				return err
			})
		}
	}
	return kept, screened, err
}

// decree writes a rule of privacy. Calls that were computed without it are computed anew.
func (s *Store) decree(ctx context.Context, query string, args ...any) error {
	return s.write(ctx, func(t *tx) error {
		if err := t.must(1, "update ~track_state set value = value + 1 where name = $1", stateVersion); err != nil {
			return err
		}
		_, err := t.exec(query, slices.Clone(args)...)
		return err
	})
}

func (s *Store) Hide(ctx context.Context, z gpstracks.Zone) (changed []orb.Bound, err error) {
	if err := z.Check(); err != nil {
		return nil, err
	}
	all, err := s.Zones(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(o gpstracks.Zone) bool { return o.Name == z.Name })
	if i < 0 || all[i].Center != z.Center || all[i].RadiusM != z.RadiusM {
		err := s.decree(ctx, `insert into ~track_zones (name, lon, lat, radius_m, secret, made_at) values ($1, $2, $3, $4, $5, $6)
			on conflict (name) do update set lon = excluded.lon, lat = excluded.lat, radius_m = excluded.radius_m`,
			z.Name, z.Center[0], z.Center[1], z.RadiusM, rand.Text(), z.MadeAt)
		if err != nil {
			return nil, err
		}
	}
	near, err := s.page(ctx, gpstracks.Filter{Bounds: z.Around()}, s.Dialect.Touches, "")
	for part := range slices.Chunk(near, removeAtOnce) {
		ids := make([]int64, len(part))
		for i, c := range part {
			ids[i] = c.ID
		}
		again, failed := s.cut(ctx, ids)
		if changed = append(changed, again...); failed != nil {
			return changed, failed
		}
	}
	return changed, err
}

// cut cuts tracks that were stored before a zone.
func (s *Store) cut(ctx context.Context, ids []int64) (changed []orb.Bound, err error) {
	return changed, s.change(ctx, func(c *change, last int64) error {
		zones, err := s.Zones(ctx)
		if err != nil {
			return err
		}
		stored, err := read(ctx, s, scanTrack, fullTracks+"id in @1", ids)
		if err != nil {
			return err
		}
		var erased, left []gpstracks.Track
		for _, t := range stored {
			cut, hidden := gpstracks.Cut(t, zones)
			if !hidden {
				continue
			}
			erased = append(erased, t)
			if c.erase(t); len(cut.Lines) > 0 {
				left = append(left, cut)
			}
		}
		others, err := s.Known(ctx, left...)
		if err != nil {
			return err
		}
		others = slices.DeleteFunc(others, func(o gpstracks.Track) bool { return slices.Contains(c.gone, o.ID) })
		for _, t := range gpstracks.PlanUpsert(left, others).New { // the rest are others by now
			t.ID = last + 1 + int64(len(c.fresh))
			c.fresh = append(c.fresh, t)
		}
		changed = c.changed
		return s.redraw(ctx, c, erased, c.fresh)
	})
}

func (s *Store) Unhide(ctx context.Context, name string) (bool, error) {
	return s.forget(ctx, "delete from ~track_zones where name = $1", name)
}

// forget carries out a statement that takes a rule of privacy back, and reports whether there was one.
func (s *Store) forget(ctx context.Context, query string, which any) (done bool, err error) {
	return done, s.write(ctx, func(t *tx) error {
		n, err := t.exec(query, which)
		done = n > 0
		return err
	})
}

func (s *Store) Withheld(ctx context.Context, r gpstracks.Removal) ([]gpstracks.Track, error) {
	tracks, err := read(ctx, s, scanTrack, fullTracks+"(id in (select track_id from ~track_marks where mark in @1) or source = $2 and "+
		"external_id = $3 and external_id <> '') order by id", r.Cells.Marks(), r.Source, r.ExternalID)
	return slices.DeleteFunc(tracks, func(t gpstracks.Track) bool { return !r.Matches(&t) }), err
}

func (s *Store) Withhold(ctx context.Context, r gpstracks.Removal) ([]orb.Bound, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	known, err := s.Removals(ctx)
	if err != nil {
		return nil, err
	}
	if r.OldKey = ""; !slices.ContainsFunc(known, func(o gpstracks.Removal) bool {
		o.ID, o.Reason, o.By, o.At = r.ID, r.Reason, r.By, r.At
		return reflect.DeepEqual(o, r)
	}) {
		if err := s.decree(ctx, "insert into ~track_removals (dedupe_key, source, external_id, reason, removed_by, removed_at, cells, "+
			"recorded_on, length_m) values ('', $1, $2, $3, $4, $5, $6, $7, $8)", r.Source, r.ExternalID, r.Reason, r.By, r.At,
			gpstracks.AppendCells(nil, r.Cells), r.RecordedOn, r.LengthM); err != nil {
			return nil, err
		}
	}
	tracks, err := s.Withheld(ctx, r)
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	ids := make([]int64, len(tracks))
	for i := range tracks {
		ids[i] = tracks[i].ID
	}
	return s.Remove(ctx, ids...)
}

func (s *Store) Readmit(ctx context.Context, id int64) (bool, error) {
	return s.forget(ctx, "delete from ~track_removals where id = $1", id)
}
