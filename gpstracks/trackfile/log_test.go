package trackfile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
	"github.com/signalbox-dev/signalbox/gpstracks/trackfile"
)

// read is the only track of a file.
func only(t *testing.T, name, body string) gpx.Track {
	t.Helper()
	var all []gpx.Track
	for d := range trackfile.Read(name, strings.NewReader(body), trackfile.Limits{}) {
		require.NoError(t, d.Err)
		all = append(all, d.Tracks...)
	}
	require.Len(t, all, 1)
	return all[0]
}

// A flight over midnight, with the elevation of the receiver or of the barometer, south and west.
func TestIGC(t *testing.T) {
	t.Parallel()
	k := only(t, "flight.igc", "AXCT123\r\nHFDTEDATE:310524,01\r\nHFPLTPILOTINCHARGE:Jane Roe\r\nHFGTYGLIDERTYPE:Zeno\r\n"+
		"B2359505206343N00006198WA0058700558\r\nB0000105206259S00006295EV0059300000\r\nB0000125206X59S00006295EA0059300000\r\n"+
		"B0000145260259S00006295EA0059300000\r\nB00\r\n")
	require.Equal(t, 3, k.BadPoints)
	require.Equal(t, "Zeno", k.Desc)
	require.Empty(t, k.Name, "nobody is named")
	require.Len(t, k.Segments[0], 2)
	a, b := k.Segments[0][0], k.Segments[0][1]
	require.InDelta(t, 52+6.343/60, a.At[1], 1e-9)
	require.InDelta(t, -6.198/60, a.At[0], 1e-9)
	require.InDelta(t, -(52 + 6.259/60), b.At[1], 1e-9)
	require.InDelta(t, 558, a.Ele, 0)
	require.InDelta(t, 593, b.Ele, 0)
	require.Equal(t, time.Date(2024, 5, 31, 23, 59, 50, 0, time.UTC), a.Time)
	require.Equal(t, time.Date(2024, 6, 1, 0, 0, 10, 0, time.UTC), b.Time)
}

func TestNMEA(t *testing.T) {
	t.Parallel()
	k := only(t, "log.nmea", "the words of a logger\r\n$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47\r\n"+
		"$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A\r\n"+
		"$GPRMC,123520,V,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*77\r\n"+
		"$GPRMC,123521,A,4807.138,N,01131.000,E,022.4,084.4,230394,003.1,W\r\n"+
		"$GPRMC,123522,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A\r\n"+
		"$SDDPT,5.3\r\n$IIZDA,123523,24,03,1994,00,00\r\n$IIGGA,123523.00,4807.138,N,01131.000,E,1,08,0.9,540,M,46.9,M,,\r\n$GPRMC,12352")
	require.Equal(t, 1, k.BadPoints, "the checksum of one is wrong")
	require.Len(t, k.Segments[0], 3)
	require.InDelta(t, 48+7.038/60, k.Segments[0][0].At[1], 1e-9)
	require.InDelta(t, 540, k.Segments[0][2].Ele, 0)
	require.False(t, k.Segments[0][1].HasEle)
	require.Equal(t, time.Date(1994, 3, 24, 12, 35, 23, 0, time.UTC), k.Segments[0][2].Time)
}
