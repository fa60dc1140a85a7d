package trackfile

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// Format names the kind of a file, as in GPX, gzip or GeoJSON.
type Format string

// The formats that are read.
const (
	formatGPX     Format = "GPX"
	formatTCX     Format = "TCX"
	formatKML     Format = "KML"
	formatFIT     Format = "FIT"
	formatGeoJSON Format = "GeoJSON"
	formatIGC     Format = "IGC"
	formatNMEA    Format = "NMEA"
	formatGzip    Format = "gzip"
	formatBzip2   Format = "bzip2"
	formatZIP     Format = "ZIP" // KMZ too
	formatTar     Format = "tar"
	formatXML     Format = "XML" // of which a document is made that may be one of the above, in another encoding
)

// contains reports a format of compressions and archives.
func (f Format) contains() bool {
	return f == formatGzip || f == formatBzip2 || f == formatZIP || f == formatTar
}

// peeked bounds the bytes that sniff sees.
const peeked = 4096

// sniff is the format that a file begins as; "" if it is not known.
func sniff(begin []byte) Format {
	for _, known := range signatures() {
		if len(begin) >= known.at && bytes.HasPrefix(begin[known.at:], []byte(known.bytes)) {
			return known.format
		}
	}
	return sniffText(begin)
}

type signature struct {
	at     int
	bytes  string
	format Format
}

// signatures are the first bytes of formats that are not text.
func signatures() []signature {
	return []signature{
		{0, "\x1f\x8b", formatGzip},
		{0, "BZh", formatBzip2},
		{0, "PK\x03\x04", formatZIP},
		{0, "PK\x05\x06", formatZIP}, // an empty one
		{257, "ustar", formatTar},
		{8, ".FIT", formatFIT},
		{0, "7z\xbc\xaf\x27\x1c", "7-Zip"},
		{0, "Rar!\x1a\x07", "RAR"},
		{0, "\xfd7zXZ\x00", "xz"},
		{0, "\x28\xb5\x2f\xfd", "Zstandard"},
		{0, "SQLite format 3\x00", "SQLite"},
		{0, "MsRc", "GDB"},
		{0, "\xff\xd8\xff", "JPEG"},
		{0, "\x89PNG", "PNG"},
		{0, "%PDF", "PDF"},
		{4, "ftyp", "MP4"},
		{0, "\x00\x05\x16\x07", "AppleDouble"}, // what a Mac puts beside each file of an archive
	}
}

// sniffText is the format of a text. UTF-16 is read without its zeros.
func sniffText(begin []byte) Format {
	text := string(bytes.ReplaceAll(begin, []byte{0}, nil))
	for _, mark := range [...]string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"} { // of the byte order
		text = strings.TrimPrefix(text, mark)
	}
	text = strings.TrimSpace(text)
	lower := strings.ToLower(text)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(lower, w) })
	}
	switch {
	case strings.HasPrefix(text, "<"):
		switch {
		case has("<gpx"):
			return formatGPX
		case has("<trainingcenterdatabase"):
			return formatTCX
		case has("<kml"):
			return formatKML
		case has("<html", "<!doctype html"): // and not in a description
			return "HTML"
		case has("<osm"):
			return "OSM XML"
		}
		return formatXML
	case strings.HasPrefix(text, "[Params]"):
		return "Polar HRM"
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		switch {
		case has(`"topology"`):
			return "TopoJSON"
		case has(`"feature`, `"coordinates"`, `"geometries"`): // "type" may come last
			return formatGeoJSON
		}
		return "JSON"
	case nmeaLine.MatchString(text): // behind a logger's own words, perhaps
		return formatNMEA
	case strings.HasPrefix(text, "A") && has("\nhfdte", "\rhfdte"):
		return formatIGC
	case has("ozi") && has("track point"), strings.HasPrefix(lower, "oziexplorer"):
		return "OziExplorer PLT"
	}
	if first, _, _ := strings.Cut(lower, "\n"); strings.Contains(first, "lat") && strings.Contains(first, "lon") &&
		strings.ContainsAny(first, ",;\t") {
		return "CSV"
	}
	return ""
}

// nmeaLine begins a sentence of NMEA 0183.
var nmeaLine = regexp.MustCompile(`(?m)^\$[A-Z]{5},`)

// advice names the way out of a format that is not read.
func (f Format) advice() string {
	switch f {
	case "7-Zip", "RAR", "xz", "Zstandard":
		return "unpack it, or pack it as ZIP, tar, gzip or bzip2"
	case "SQLite":
		return "it is an app's own database: export its tracks as GPX in the app"
	case "GDB", "Polar HRM", "OziExplorer PLT", "CSV":
		return "convert it to GPX, as with gpsbabel"
	case "HTML":
		return "it is a web page, as servers send in place of a file to those who are not signed in: download it again"
	case "OSM XML":
		return "it is map data; export the relation as GPX"
	case "TopoJSON", "JSON":
		return "export GPX or GeoJSON"
	case "JPEG", "PNG", "PDF", "MP4", "AppleDouble":
		return "it holds no track"
	}
	return "GPX, TCX, FIT, KML, KMZ, GeoJSON, IGC and NMEA are read, also with gzip and bzip2 and in ZIP and tar archives"
}
