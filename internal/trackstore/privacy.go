package trackstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"slices"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

var _ gpstracks.PrivateStore = (*Store)(nil)

// Zones implements gpstracks.ZoneStore.
func (s *Store) Zones(ctx context.Context) ([]gpstracks.Zone, error) {
	return read(ctx, s, func(r *sql.Rows) (z gpstracks.Zone, err error) {
		return z, r.Scan(&z.Name, &z.Center[0], &z.Center[1], &z.RadiusM, &z.Secret, when{&z.MadeAt})
	}, "select name, lon, lat, radius_m, secret, made_at from ~track_zones order by name")
}

// Removals implements gpstracks.RemovalStore.
func (s *Store) Removals(ctx context.Context) ([]gpstracks.Removal, error) {
	return read(ctx, s, func(r *sql.Rows) (m gpstracks.Removal, err error) {
		return m, r.Scan(&m.ID, &m.Key, &m.Source, &m.ExternalID, &m.Reason, &m.By, when{&m.At})
	}, "select id, dedupe_key, source, external_id, reason, removed_by, removed_at from ~track_removals order by id")
}

// screen returns the tracks that may be kept.
func (s *Store) screen(ctx context.Context, tracks []gpstracks.Track) ([]gpstracks.Track, gpstracks.Screened, error) {
	zones, err := s.Zones(ctx)
	if err != nil {
		return nil, gpstracks.Screened{}, err
	}
	removals, err := s.Removals(ctx)
	kept, screened := gpstracks.Screen(tracks, zones, removals)
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

// Hide implements gpstracks.ZoneStore.
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
		var keys []string
		for _, t := range stored {
			cut, hidden := gpstracks.Cut(t, zones)
			if !hidden {
				continue
			}
			erased, c.gone, c.changed = append(erased, t), append(c.gone, t.ID), append(c.changed, t.Bounds)
			if len(cut.Lines) > 0 {
				left, keys = append(left, cut), append(keys, cut.Key)
			}
		}
		others, err := read(ctx, s, scanKnown, knownTracks, keys)
		if err != nil {
			return err
		}
		taken := map[string]bool{}
		for _, o := range others {
			taken[o.Key] = !slices.Contains(c.gone, o.ID)
		}
		for _, t := range left {
			if !taken[t.Key] { // else it is another one by now
				taken[t.Key] = true
				t.ID = last + 1 + int64(len(c.fresh))
				c.fresh = append(c.fresh, t)
			}
		}
		changed = c.changed
		return s.redraw(ctx, c, erased, c.fresh)
	})
}

// Unhide implements gpstracks.ZoneStore.
func (s *Store) Unhide(ctx context.Context, name string) (done bool, err error) {
	return done, s.write(ctx, func(t *tx) error {
		n, err := t.exec("delete from ~track_zones where name = $1", name)
		done = n > 0
		return err
	})
}

// Withhold implements gpstracks.RemovalStore.
func (s *Store) Withhold(ctx context.Context, r gpstracks.Removal) ([]orb.Bound, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	known, err := s.Removals(ctx)
	if err != nil {
		return nil, err
	}
	same := func(o gpstracks.Removal) bool {
		return o.Key == r.Key && o.Source == r.Source && o.ExternalID == r.ExternalID
	}
	if !slices.ContainsFunc(known, same) {
		if err := s.decree(ctx, "insert into ~track_removals (dedupe_key, source, external_id, reason, removed_by, removed_at) values "+
			"($1, $2, $3, $4, $5, $6)",
			r.Key, r.Source, r.ExternalID, r.Reason, r.By, r.At); err != nil {
			return nil, err
		}
	}
	ids, err := read(ctx, s, value[int64], "select id from ~tracks where dedupe_key = $1 or (source = $2 and external_id = $3 and "+
		"external_id <> '')", r.Key, r.Source, r.ExternalID)
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	return s.Remove(ctx, ids...)
}

// Readmit implements gpstracks.RemovalStore.
func (s *Store) Readmit(ctx context.Context, id int64) (done bool, err error) {
	return done, s.write(ctx, func(t *tx) error {
		n, err := t.exec("delete from ~track_removals where id = $1", id)
		done = n > 0
		return err
	})
}
