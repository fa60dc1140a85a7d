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

// PlanUpsert decides what becomes of the tracks of one call. Tracks are the same whose Key is, or that
// share nine of ten Cells, differ in length by less than 15 in 100, and are of one day and time, as
// far as these are known. known are those that the store has of them: with all that Merge looks at, and
// those that are updated with all that is theirs. Times that differ by less than a
// microsecond are the same: stores keep no more of them.
func PlanUpsert(tracks, known []Track) (p Plan) {
	all := make([]entry, 0, len(known)+len(tracks)) // room for all: places in it do not move
	var index Index
	for i := range known {
		all = append(all, entry{Track: known[i]})
		index.Add(&all[i].Track)
	}
	for i := range tracks {
		at := index.Find(&tracks[i])
		if at < 0 {
			t := tracks[i]
			t.ID, t.FirstSeenAt = 0, t.LastSeenAt
			all = append(all, entry{Track: t, fresh: true})
			index.Add(&all[len(all)-1].Track)
			p.Inserted++
			p.Changed = append(p.Changed, t.Bounds)
			continue
		}
		e := &all[at]
		merged, told := Merge(e.Track, tracks[i])
		if told {
			e.told = true
			p.Updated++
			p.Changed = append(p.Changed, merged.Bounds)
		} else {
			p.Duplicates++
		}
		then := e.LastSeenAt.Truncate(time.Microsecond) // as stores keep it
		e.seen = e.seen || merged.RunID != e.RunID || !merged.LastSeenAt.Truncate(time.Microsecond).Equal(then)
		e.Track, index.byKey[merged.Key] = merged, at
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
