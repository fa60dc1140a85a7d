package collect_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/gpstracks/trackfile"
)

const (
	corpusSeed = 20260501
	filesEach  = 8 // of each exporter
	deviation  = 0.005
)

// agreement measures a track against another reader: shares of its length,
// of the size of its box, and of its duration.
type agreement struct{ length, box, time float64 }

func (a agreement) worst(b agreement) agreement {
	return agreement{max(a.length, b.length), max(a.box, b.box), max(a.time, b.time)}
}

// row is a line of the table.
type row struct {
	files, accepted int
	refused         gpstracks.Tally
	spikes, wrong   int // points that were dropped as outliers, and those of them that were none
	missed          int // outliers that were not dropped
	agreement
}

// Files as some sixty exporters write them: what is accepted has the length, the box and the
// times that another reader finds, no outlier is left, and no point is taken for one that is
// none. The document of the layer has the table's last line.
func TestCorpus(t *testing.T) {
	t.Parallel()
	total := row{}
	var table strings.Builder
	fmt.Fprintf(&table, "%-42s %5s %8s %-22s %6s %9s %9s %9s\n", "EXPORTER", "FILES", "ACCEPTED", "REFUSED", "SPIKES", "LENGTH", "BOX",
		"TIME")
	for n, e := range slices.Concat(exporters(), otherFormats()) {
		one := row{}
		for k := range filesEach {
			one.take(t, e, e.file(rand.New(rand.NewPCG(corpusSeed, uint64(n*1000+k)))))
		}
		one.print(&table, e.name)
		total = total.plus(one)
	}
	total.print(&table, "all")
	t.Log("\n" + table.String())
	require.GreaterOrEqual(t, total.files, 300)
	require.LessOrEqual(t, max(total.length, total.box, total.time), deviation)
	require.Zero(t, total.wrong, "points that are no outliers were dropped")
	require.Zero(t, total.missed, "outliers were kept")
	doc, err := os.ReadFile("../../docs/gps.md")
	require.NoError(t, err)
	require.Contains(t, regexp.MustCompile(`\s+`).ReplaceAllString(string(doc), " "), total.sentence(), "docs/gps.md has other figures")
}

// sentence is the figure in docs/gps.md.
func (w row) sentence() string {
	refused := 0
	for _, n := range w.refused {
		refused += n
	}
	return fmt.Sprintf("of %d files as %d exporters write them %d are accepted and %d rightly refused; the worst "+
		"length is %.2f %% from that of another reader, "+
		"the worst box %.2f %%, the worst start or end %.2f %%; %d outliers were planted, and %d points dropped",
		w.files, w.files/filesEach, w.accepted, refused, 100*w.length, 100*w.box, 100*w.time, w.spikes+w.missed-w.wrong, w.spikes)
}

func (w row) plus(o row) row {
	w.files, w.accepted, w.spikes, w.wrong, w.missed = w.files+o.files, w.accepted+o.accepted, w.spikes+o.spikes, w.wrong+o.wrong,
		w.missed+o.missed
	for why, n := range o.refused {
		for range n {
			w.refused = w.refused.Add(why)
		}
	}
	w.agreement = w.agreement.worst(o.agreement)
	return w
}

func (w row) print(b *strings.Builder, name string) {
	refused := []string{}
	for _, why := range gpstracks.Reasons() {
		if w.refused[why] > 0 {
			refused = append(refused, fmt.Sprintf("%d %s", w.refused[why], why))
		}
	}
	fmt.Fprintf(b, "%-42s %5d %8d %-22s %6d %8.3f%% %8.3f%% %8.3f%%\n", name, w.files, w.accepted, cmp.Or(strings.Join(refused, ", "), "-"),
		w.spikes, 100*w.length, 100*w.box, 100*w.time)
}

// take imports a file and compares what comes of it.
func (w *row) take(t *testing.T, e exporter, s sample) {
	t.Helper()
	r := newRig(t)
	var reports []collect.FileReport
	file := fileOf(s.name, s.body)
	from := local()
	if w.files++; w.files%2 == 0 {
		from = source() // of anonymous people, whose files are kept as their authors wrote them too
	}
	take := func(f collect.FileReport) { reports = append(reports, f) }
	_, err := r.collector().Import(t.Context(), from, []collect.File{file}, trackfile.Limits{}, take)
	require.Len(t, reports, 1, e.name)
	why, dropped := reports[0].Reason, 0
	for _, track := range reports[0].Tracks {
		why, dropped = cmp.Or(why, track.Reason), dropped+track.Spikes
	}
	require.Equal(t, s.rejected, why, "%s: %+v", e.name, reports)
	w.spikes += dropped
	w.wrong += max(0, dropped-s.spikes)
	w.missed += max(0, s.spikes-dropped)
	if why != "" {
		w.refused = w.refused.Add(why)
		return
	}
	require.NoError(t, err, e.name)
	w.accepted++
	kept := r.list()
	require.Len(t, kept, 1, e.name)
	want := independent(t, cmp.Or(s.clean, s.text, s.body))
	far := compare(want, kept[0])
	require.LessOrEqual(t, max(far.length, far.box, far.time), deviation, "%s, %s: %+v, %v m", e.name, s.name, want, kept[0].LengthM)
	w.agreement = w.agreement.worst(far)
}

func compare(want reading, got gpstracks.Track) (a agreement) {
	a.length = math.Abs(got.LengthM-want.metres) / want.metres
	corners := func(b orb.Bound) [4]float64 { return [4]float64{b.Min[0], b.Min[1], b.Max[0], b.Max[1]} }
	size := math.Hypot(want.bounds.Max[0]-want.bounds.Min[0], want.bounds.Max[1]-want.bounds.Min[1])
	for i, v := range corners(got.Bounds) {
		a.box = max(a.box, math.Abs(v-corners(want.bounds)[i])/size)
	}
	if want.first.IsZero() != got.StartedAt.IsZero() {
		a.time = 1
	} else if d := want.last.Sub(want.first).Seconds(); d > 0 {
		a.time = max(math.Abs(got.StartedAt.Sub(want.first).Seconds()), math.Abs(got.EndedAt.Sub(want.last).Seconds())) / d
	}
	return a
}
