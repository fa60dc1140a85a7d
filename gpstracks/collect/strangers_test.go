package collect_test

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
)

// Of real files: a device's own ascent counts where it has a barometer, each sport is a track, a cut file says so.
func TestDevices(t *testing.T) {
	t.Parallel()
	brought := func(name string) ([]gpstracks.Track, gpstracks.Run) {
		r := newRig(t)
		run, err := r.imports([]collect.File{{Name: name, Open: func() (io.ReadCloser, error) {
			return os.Open("../trackfile/testdata/strangers/" + name)
		}}}, nil)
		require.NoError(t, err)
		return r.list(), run
	}
	edge530, _ := brought("garmin.fit.gz")
	require.Equal(t, []float64{268, 268}, []float64{edge530[0].Elevation.AscentM, edge530[0].Elevation.DescentM})
	edge500, _ := brought("garmin-edge-500-activitiy.fit.gz") // 541 m by the device, which names no barometer
	require.InDelta(t, 457, edge500[0].Elevation.AscentM, 5)
	var sports []gpstracks.Activity
	all, _ := brought("activity-large-fenxi2-multisport.fit.gz")
	for _, k := range all {
		sports = append(sports, k.Activity)
	}
	require.Len(t, all, 7)
	require.Equal(t, gpstracks.Cycling, sports[0])
	require.Contains(t, sports, gpstracks.Running)
	_, run := brought("activity-unexpected-eof.fit.gz")
	require.Equal(t, gpstracks.Tally{gpstracks.ReasonCutOff: 1}, run.ChangedFor)
}
