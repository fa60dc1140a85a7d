package gpx_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

const small = `<gpx><trk><name>Zmutt</name></trk></gpx>`

func TestGzip(t *testing.T) {
	t.Parallel()
	body := zipped(t, small)
	tracks, err := read(bytes.NewReader(body), gpx.Limits{})
	require.NoError(t, err)
	require.Equal(t, "Zmutt", tracks[0].Name)
	for n := 3; n < len(body); n++ { // cut off anywhere
		_, err := read(bytes.NewReader(body[:n]), gpx.Limits{})
		require.Error(t, err, n)
	}
	body[len(body)-6]++ // the checksum
	_, err = read(bytes.NewReader(body), gpx.Limits{})
	require.ErrorIs(t, err, gzip.ErrChecksum)

	// Little that grows to much is not read to its end.
	bomb := zipped(t, "<gpx>"+strings.Repeat(" ", 64<<20)+"</gpx>")
	require.Less(t, len(bomb), 100_000)
	_, err = read(bytes.NewReader(bomb), gpx.Limits{})
	require.EqualError(t, err, "GPX: the document is longer than 10485760 bytes")
}

func wide(order binary.AppendByteOrder, text string) []byte {
	var out []byte
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return out
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	document := func(encoding string) string {
		return `<?xml version="1.0" encoding="` + encoding + `"?><gpx><trk><name>Zürich – 5 € 🏔</name></trk></gpx>`
	}
	narrow := func(encoding, name string) []byte {
		head, tail, _ := strings.Cut(document(encoding), "Zürich – 5 € 🏔")
		return []byte(head + name + tail)
	}
	const want = "Zürich – 5 € 🏔"
	for what, c := range map[string]struct {
		body []byte
		want string
	}{
		"utf-8":                      {[]byte(document("UTF-8")), want},
		"utf-8 with a mark":          {[]byte("\xef\xbb\xbf" + document("utf8")), want},
		"utf-16 with a mark, big":    {wide(binary.BigEndian, "\ufeff"+document("UTF-16")), want},
		"utf-16 with a mark, little": {wide(binary.LittleEndian, "\ufeff"+document("utf-16")), want},
		"utf-16 without, big":        {wide(binary.BigEndian, document("UTF-16BE")), want},
		"utf-16 without, little":     {wide(binary.LittleEndian, document("UTF-16LE")), want},
		"latin 1":                    {narrow("ISO-8859-1", "Z\xfcrich \x96"), "Zürich \u0096"},
		"windows":                    {narrow("Windows-1252", "Z\xfcrich \x96 5 \x80"), "Zürich – 5 €"},
		"ascii":                      {narrow("us-ascii", "Zurich"), "Zurich"},
		"compressed":                 {zipped(t, document("UTF-8")), want},
	} {
		tracks, err := read(bytes.NewReader(c.body), gpx.Limits{})
		require.NoError(t, err, what)
		require.Equal(t, c.want, tracks[0].Name, what)
	}
	lonely := wide(binary.LittleEndian, "\ufeff"+document("utf-16"))
	_, err := read(bytes.NewReader(lonely[:len(lonely)-1]), gpx.Limits{})
	require.EqualError(t, err, "GPX line 1: the document is cut off")
	_, err = read(strings.NewReader("<?xml version=\"1.0\"?>\n<gpx><trk><name>Z\xfcrich</name></trk></gpx>"), gpx.Limits{})
	require.EqualError(t, err, "GPX line 2: invalid UTF-8")
}

// Whatever a document holds, reading it returns, and what it gives is within the
// limits and on earth.
func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(`<gpx><trk><trkseg><trkpt lat="46" lon="7"><time>2026-01-01T00:00:00Z</time></trkpt><trkpt lat="NaN" lon="7"/>` +
		`</trkseg></trk></gpx>`))
	f.Add([]byte(`<!DOCTYPE gpx [<!ENTITY a "b">]><gpx><trk><name>&a;</name></trk></gpx>`))
	f.Add(zipped(f, small))
	f.Add(wide(binary.BigEndian, small))
	f.Add([]byte(`<?xml version="1.0" encoding="windows-1252"?><gpx><trk><name>` + "\x80\x9f" + `</name></trk></gpx>`))
	limits := gpx.Limits{Bytes: 1 << 16, Points: 100, Depth: 8, Text: 20}
	f.Fuzz(func(t *testing.T, body []byte) {
		points := 0
		for track, err := range gpx.Read(bytes.NewReader(body), limits) {
			if err != nil {
				var own *gpx.Error
				require.ErrorAs(t, err, &own)
				require.NotEmpty(t, err.Error())
				return
			}
			require.LessOrEqual(t, len(track.Name), limits.Text)
			points += track.BadPoints
			for _, segment := range track.Segments {
				require.NotEmpty(t, segment)
				points += len(segment)
				for _, p := range segment {
					require.True(t, p.At[0] >= -180 && p.At[0] <= 180 && p.At[1] >= -90 && p.At[1] <= 90)
				}
			}
		}
		require.LessOrEqual(t, points, limits.Points)
	})
}
