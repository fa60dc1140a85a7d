package tile

import (
	"cmp"
	"slices"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// Mark is a range of ids whose tracks are kept and are in no block yet. A store that
// builds blocks later keeps marks with the tracks, in one transaction, and takes them
// away in the one that brings the blocks. A tile that reads both in one transaction,
// and draws marked tracks by a Rest, shows each track once, at any moment.
type Mark struct {
	First, Last int64 // ids; some of the range may be of no track
	Points      int64 // of its tracks
	Changed     int64 // how often one of them was told something or removed
}

// What a mark holds at most, but for a single track.
const markTracks, markPoints = 2048, 128 << 10

// MarksOf are the marks of tracks, in order.
func MarksOf(tracks []gpstracks.Track) (marks []Mark) {
	order := make([]*gpstracks.Track, len(tracks))
	for i := range tracks {
		order[i] = &tracks[i]
	}
	slices.SortFunc(order, func(a, b *gpstracks.Track) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range order {
		if n := len(marks); n > 0 {
			if m := &marks[n-1]; m.Last+1 == t.ID && t.ID-m.First < markTracks && m.Points+int64(t.Points) <= markPoints {
				m.Last, m.Points = t.ID, m.Points+int64(t.Points)
				continue
			}
		}
		marks = append(marks, Mark{First: t.ID, Last: t.ID, Points: int64(t.Points)})
	}
	return marks
}

// Marked finds the mark of an id among marks in their order.
func Marked(marks []Mark, id int64) (m Mark, ok bool) {
	i, found := slices.BinarySearchFunc(marks, id, func(m Mark, id int64) int { return cmp.Compare(m.First, id) })
	if !found {
		i--
	}
	if i < 0 || marks[i].Last < id {
		return Mark{}, false
	}
	return marks[i], true
}

// NextMarks are the first of marks: as many as hold no more than most, or one.
func NextMarks(marks []Mark, most Backlog) []Mark {
	var b Backlog
	for i, m := range marks {
		b.Tracks, b.Points = b.Tracks+m.Last-m.First+1, b.Points+m.Points
		if i > 0 && (b.Tracks > most.Tracks || b.Points > most.Points) {
			return marks[:i]
		}
	}
	return marks
}

// Backlog is how much is in no block yet.
type Backlog struct{ Tracks, Points int64 }

// Much reports more than should be left to be built later, as tiles become slow: 65,536
// tracks or four million points. Whoever brought it should build some of it first.
func (b Backlog) Much() bool { return b.Tracks > 64<<10 || b.Points > 4<<20 }

// Rest makes blocks of tracks that are in none yet, of one level. The zero value is
// ready.
type Rest struct {
	Some     bool // a track was added, drawn or not
	packer   Packer
	features []Feature
}

// Add takes a track, of which it reads ID, Name, Activity, Source, URL, Attribution,
// RecordedOn, Bounds, LengthM and Lines.
func (r *Rest) Add(t *gpstracks.Track, level int) {
	r.Some = true
	r.features = append(r.features, r.packer.PackLevel(t, level)...)
}

// Reset forgets all tracks.
func (r *Rest) Reset() { r.Some, r.features = false, nil }

// Blocks yields blocks of what was added, and ends with the error of yield.
func (r *Rest) Blocks(level int, yield func([]byte) error) error {
	Sort(r.features)
	for part := range slices.Chunk(r.features, BlockSize) {
		if err := yield(AppendBlock(nil, level, part)); err != nil {
			return err
		}
	}
	return nil
}
