package gpstracks

import "time"

// Plan holds the changes of an upsert, as PlanUpsert decides them.
type Plan struct {
	Upserted
	New  []Track // to be kept, without ids, in the order of the call
	Told []Track // known ones, with what they lacked
	Seen []Track // other known ones, which were seen later
}

// Empty reports a plan that changes nothing in the store.
func (p *Plan) Empty() bool { return len(p.New)+len(p.Told)+len(p.Seen) == 0 }

// entry is a track while a plan is made.
type entry struct {
	Track
	fresh, told, seen bool
}

// PlanUpsert decides what becomes of the tracks of one call, by Key. known are those
// that the store has of their keys: with all that Merge looks at, and those that are
// updated with all that is theirs. Times that differ by less than a
// microsecond are the same: stores keep no more of them.
func PlanUpsert(tracks, known []Track) (p Plan) {
	all := make([]entry, 0, len(known)+len(tracks)) // room for all: places in it do not move
	byKey := make(map[string]*entry, len(known))
	for i := range known {
		all = append(all, entry{Track: known[i]})
		byKey[known[i].Key] = &all[i]
	}
	for i := range tracks {
		e := byKey[tracks[i].Key]
		if e == nil {
			t := tracks[i]
			t.ID, t.FirstSeenAt = 0, t.LastSeenAt
			all = append(all, entry{Track: t, fresh: true})
			byKey[t.Key] = &all[len(all)-1]
			p.Inserted++
			p.Changed = append(p.Changed, t.Bounds)
			continue
		}
		merged, told := Merge(e.Track, tracks[i])
		if told {
			e.told = true
			p.Updated++
			p.Changed = append(p.Changed, merged.Bounds)
		} else {
			p.Duplicates++
		}
		e.seen = e.seen || merged.RunID != e.RunID || !sameTime(merged.LastSeenAt, e.LastSeenAt)
		e.Track = merged
	}
	for i := range all {
		switch e := &all[i]; {
		case e.fresh:
			p.New = append(p.New, e.Track)
		case e.told:
			p.Told = append(p.Told, e.Track)
		case e.seen:
			p.Seen = append(p.Seen, e.Track)
		}
	}
	return p
}

func sameTime(a, b time.Time) bool {
	return a.Truncate(time.Microsecond).Equal(b.Truncate(time.Microsecond))
}
