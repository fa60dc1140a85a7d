package trackhttp

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// track answers one track: with all its points as GeoJSON, or as a GPX file where the licence
// of its source allows files.
func (h *Handler) track(w http.ResponseWriter, r *http.Request, path string) {
	name, asFile := strings.CutSuffix(path, ".gpx")
	t, ok := h.read(w, r, name)
	if !ok {
		return
	}
	source := h.source(t.Source)
	if asFile && !source.Download {
		problem(w, http.StatusForbidden, "no-download", "The licence of this track's source does not allow files of it to be handed out.")
		return
	}
	kind, body := "application/geo+json", h.feature(&t, source)
	if asFile {
		w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="track-%s.gpx"`, name))
		kind, body = "application/gpx+xml", gpxFile(&t, source)
	}
	h.send(w, r, kind, body)
}

// read finds the track of a number, or answers why there is none.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, number string) (t gpstracks.Track, ok bool) {
	id, ok := whole(number, 18)
	if !ok || id == 0 {
		notFound(w)
		return t, false
	}
	for t, err := range h.o.Store.List(r.Context(), gpstracks.Filter{IDs: []int64{int64(id)}, Without: h.withheld(), Limit: 1}) {
		if err != nil {
			h.failed(w, r, "a track", err)
		}
		return t, err == nil
	}
	problem(w, http.StatusNotFound, "no-track", "There is no track of this number, or there is none any more.")
	return t, false
}

// source returns the facts of a source by its name.
func (h *Handler) source(name string) Source {
	all := *h.sources.Load()
	if i := slices.IndexFunc(all, func(s Source) bool { return s.Name == name }); i >= 0 {
		return all[i]
	}
	return Source{Name: name}
}

// feature is the track with what its source says of it, as GeoJSON.
func (h *Handler) feature(t *gpstracks.Track, source Source) []byte {
	b := bytes.TrimSuffix(AppendFeature(nil, t), []byte("}}"))
	b = appendString(append(b, `,"licence":`...), source.Licence)
	b = appendString(append(b, `,"licence_url":`...), source.LicenceURL)
	box := fmt.Sprintf("[%g,%g,%g,%g]", t.Bounds.Min[0], t.Bounds.Min[1], t.Bounds.Max[0], t.Bounds.Max[1])
	b = append(append(b, `},"bbox":`...), box...)
	if source.Download {
		b = appendString(append(b, `,"gpx":`...), h.o.Prefix+"/tracks/"+strconv.FormatInt(t.ID, 10)+".gpx")
	}
	return append(b, "}\n"...)
}

// gpxFile is the track as GPX 1.1, with its licence.
func gpxFile(t *gpstracks.Track, source Source) []byte {
	var b bytes.Buffer
	escaped := func(text string) string {
		var a strings.Builder
		_ = xml.EscapeText(&a, []byte(text)) // a builder takes everything
		return a.String()
	}
	element := func(name, text string) {
		if text != "" {
			b.WriteString("<" + name + ">" + escaped(text) + "</" + name + ">\n")
		}
	}
	b.WriteString(xml.Header + `<gpx version="1.1" creator="signalbox" xmlns="http://www.topografix.com/GPX/1/1">` + "\n<metadata>\n")
	element("name", t.Name)
	if t.Attribution != "" {
		b.WriteString(`<copyright author="` + escaped(t.Attribution) + `">`)
		element("license", source.LicenceURL)
		b.WriteString("</copyright>\n")
	}
	b.WriteString("</metadata>\n<trk>\n")
	element("name", t.Name)
	element("src", t.Source)
	if t.URL != "" {
		b.WriteString(`<link href="` + escaped(t.URL) + `"/>` + "\n")
	}
	element("type", string(t.Activity))
	for _, line := range t.Lines {
		b.WriteString("<trkseg>\n")
		for _, p := range line {
			fmt.Fprintf(&b, "<trkpt lat=\"%.7f\" lon=\"%.7f\"/>\n", p[1], p[0])
		}
		b.WriteString("</trkseg>\n")
	}
	b.WriteString("</trk>\n</gpx>\n")
	return b.Bytes()
}
