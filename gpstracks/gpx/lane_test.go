package gpx

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

// all reads a document to tracks and the error, in words.
func all(body []byte, l Limits, fast bool) (tracks []Track, end string) {
	for t, err := range read(bytes.NewReader(body), l, fast) {
		if err != nil {
			return tracks, err.Error()
		}
		tracks = append(tracks, t)
	}
	return tracks, ""
}

// same compares the fast lane with encoding/xml.
func same(t *testing.T, body []byte, l Limits) {
	t.Helper()
	want, end := all(body, l, false)
	got, other := all(body, l, true)
	require.Equal(t, want, got, "%q", body)
	require.Equal(t, end, other, "%q", body)
}

// walk is a document as exporters write them, with what one of them has beside.
func walk(points int, beside string) string {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<gpx version=\"1.1\" creator=\"x\"><trk><name>A &amp; B</name><trkseg>\n")
	at := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
	for i := range points {
		fmt.Fprintf(&b, "   <trkpt lat=\"%.7f\" lon=\"%.7f\">\n    <ele>%.1f</ele>\n    <time>%s</time>%s\n   </trkpt>\n",
			46+float64(i)*1e-5, 7.9, 500+float64(i%50), at.Add(time.Duration(i)*time.Second).Format(time.RFC3339), beside)
	}
	b.WriteString("</trkseg></trk></gpx>\n")
	return b.String()
}

const heart = "<extensions><gpxtpx:TrackPointExtension xmlns:gpxtpx=\"http://x\"><gpxtpx:hr>120</gpxtpx:hr><a/></gpxtpx:TrackPointExtension></extensions>"

// pieces are parts of documents, well formed and not.
func pieces() []string {
	return []string{
		"<trkpt lat=\"46.1\" lon=\"7\"/>", "<trkpt lon='7' lat='46'></trkpt>",
		"<trkpt lat=\"46\" lon=\"7\"><time>2026-05-01T08:00:00Z</time><ele> 5 </ele></trkpt>",
		"<trkpt lat=\"46\"\r\n lon=\"7\"  ><ele>1e2</ele></trkpt >",
		"<trkpt lat=\"91\" lon=\"7\"/>", "<trkpt lat=\"4&#54;\" lon=\"7\"/>", "<trkpt lat=\"46\" lat=\"1\" lon=\"7\" x:lat=\"2\"/>",
		"<trkpt x:lat=\"46\" xmlns:lon=\"7\"/>", "<trkptx lat=\"1\" lon=\"1\"/>", "<trkptx:lat=\"1\" lon=\"1\"/>",
		"<trkpt lat=\"46\"lon=\"7\"/>", "<trkpt lat = \"46\" lon=\"7\"/>", "<trkpt lat=46 lon=\"7\"/>", "<trkpt lat=\"<\" lon=\"7\"/>",
		"<g:trkpt lat=\"46\" lon=\"7\"/>", "<trkpt lat=\"46\" lon=\"7\"><time>x</time></trkpt>",
		"<trkpt lat=\"46\" lon=\"7\"><time>2026-05-01T08:00:00Z</time><time>2026-05-01T09:00:00Z</time></trkpt>",
		"<trkpt lat=\"46\" lon=\"7\"><x:time>2026-05-01T08:00:00Z</x:time><ele/></trkpt>",
		"<trkpt lat=\"46\" lon=\"7\"><time>2026<b/>-05</time></trkpt>",
		"<trkpt lat=\"46\" lon=\"7\"><!-- a --><ele>3</ele></trkpt>", "<trkpt lat=\"46\" lon=\"7\"><name>Zürich ]] &gt;</name></trkpt>",
		"<trkpt lat=\"46\" lon=\"7\">]]></trkpt>", "<trkpt lat=\"46\" lon=\"7\"><a><b><c><d/></c></b></a></trkpt>",
		"<trkpt lat=\"46\" lon=\"7\"><a></b></trkpt>", "<trkpt lat=\"46\" lon=\"7\"><a:b></b></trkpt>",
		"<trkpt lat=\"46\" lon=\"7\"><![CDATA[<x>]]></trkpt>", "<trkpt lat=\"46\" lon=\"7\">\x01</trkpt>",
		"<trkpt lat=\"46\" lon=\"7\">\xff</trkpt>",
		"<trkseg>", "</trkseg>", "<trkseg/>", "<trk>", "</trk>", "<name>n</name>", "\r\n", " ", "\n", "text", "<extensions/>", heart,
		"<rte><rtept lat=\"1\" lon=\"2\"/></rte>", "</gpx>", "<?pi?>", "<!-- - -->", "<", ">", "&", "</trkpt>", "<trkpt",
		"<trkpt lat=\"46\" lon=\"7\">" + strings.Repeat(" ", laneBytes) + "</trkpt>",
		"<trkpt lat=\"46\" lon=\"7\"><time>" + strings.Repeat(" ", 30) + "</time></trkpt>", "<trkpt lat=\"46\" lon=\"7\"><1/></trkpt>",
		"<trkpt lat=\"46\" lon=\"7\"><a b:c:d=\"\"/></trkpt>", "<trkpt lat=\"46\" lon=\"7\"><:a/></trkpt>",
		"<trkpt lat=\"46\" lon=\"7\"><a: /></trkpt>",
	}
}

// The fast lane reads what encoding/xml reads, to the letter of every error and its line: of documents
// as they are written, cut off at each byte, and of thousands put together from good and bad parts.
func TestLane(t *testing.T) {
	t.Parallel()
	for _, beside := range []string{"", heart, "<hdop>1.0</hdop>"} {
		body := []byte(walk(3, beside))
		for n := range body {
			same(t, body[:n], Limits{}.orDefault())
		}
		same(t, body, Limits{Bytes: 1 << 20, Points: 2, Depth: 32, Text: 100})
		same(t, []byte(walk(400, beside)), Limits{}.orDefault())
	}
	rng := rand.New(rand.NewPCG(1, 2))
	parts := pieces()
	for range 20_000 {
		body := "<gpx><trk><trkseg>"
		for range 1 + rng.IntN(9) {
			if rng.IntN(3) > 0 {
				body += parts[rng.IntN(8)]
			} else {
				body += parts[rng.IntN(len(parts))]
			}
		}
		if rng.IntN(2) == 0 {
			body += "</trkseg></trk></gpx>"
		}
		same(t, []byte(body), Limits{Bytes: 1 << 16, Points: 6, Depth: 6, Text: 25})
	}
	want, _ := all([]byte(walk(50, heart)), Limits{}.orDefault(), false)
	var slow []Track
	for track, err := range Read(iotest.OneByteReader(strings.NewReader(walk(50, heart))), Limits{}) {
		require.NoError(t, err)
		slow = append(slow, track)
	}
	require.Equal(t, want, slow)
}

func FuzzLane(f *testing.F) {
	for _, part := range pieces() {
		f.Add([]byte("<gpx><trk><trkseg>\n" + part + "<trkpt lat=\"46\" lon=\"7\"/>" + part + "</trkseg></trk></gpx>"))
	}
	f.Add([]byte(walk(3, heart)))
	f.Fuzz(func(t *testing.T, body []byte) {
		same(t, body, Limits{Bytes: 1 << 16, Points: 100, Depth: 8, Text: 20})
	})
}

// BenchmarkRead reads documents by encoding/xml alone and with the fast lane.
func BenchmarkRead(b *testing.B) {
	for name, beside := range map[string]string{"bare": "", "heart": heart} {
		body := []byte(walk(20_000, beside))
		b.Run(name+"/every core", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if _, end := all(body, Limits{}.orDefault(), true); end != "" {
						b.Error(end)
					}
				}
			})
		})
		for _, fast := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/lane=%v", name, fast), func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					if _, end := all(body, Limits{}.orDefault(), fast); end != "" {
						b.Fatal(end)
					}
				}
			})
		}
	}
}
