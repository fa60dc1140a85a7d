package mappage

import (
	"fmt"
	"net/url"
	"os"
	"strings"
)

// Base is the map under the tracks.
type Base struct {
	Name        string `json:"name"`
	Kind        Kind   `json:"kind"`
	URL         string `json:"url,omitempty"` // of tiles with {z}, {x} and {y}, of a style, or of a PMTiles archive
	File        string `json:"-"`             // a PMTiles archive of this machine, which the page serves
	Attribution string `json:"attribution,omitempty"`
	Imagery     bool   `json:"imagery,omitempty"` // tracks have a halo
}

// Kind names the drawing of a base.
type Kind string

// The kinds of bases.
const (
	KindPlain   Kind = "plain"   // coast, borders and cities, which are built in
	KindRaster  Kind = "raster"  // pictures
	KindStyle   Kind = "style"   // a style of MapLibre, which says what it loads
	KindPMTiles Kind = "pmtiles" // one file with all tiles, pictures or vectors, of which parts are read
)

// Plain is the base that needs nothing.
func Plain() Base { return Base{Name: "Map", Kind: KindPlain} }

// ParseBase reads a setting: none, the address of raster tiles with {z}, {x} and {y}, that of a style, or
// the path or address of a PMTiles archive. The error says what a setting looks like.
func ParseBase(text, attribution string) (Base, error) {
	b := Base{Name: "Map", URL: text, Attribution: attribution}
	if text == "" || text == "none" {
		return Plain(), nil
	}
	archive := strings.HasSuffix(text, ".pmtiles")
	if archive && !strings.Contains(text, "://") {
		if info, err := os.Stat(text); err != nil || !info.Mode().IsRegular() {
			return Base{}, fmt.Errorf("the base of a map, %s, is no file that can be read", text)
		}
		b.Kind, b.File, b.URL = KindPMTiles, text, ""
		return b, nil
	}
	u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(text))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsAny(u.Host, "; '\"") {
		const want = "want none, https://…/{z}/{x}/{y}.png, https://…/style.json or a file.pmtiles"
		return Base{}, fmt.Errorf("%q is no base of a map: %s", text, want)
	}
	switch b.Kind = KindStyle; {
	case archive:
		b.Kind = KindPMTiles
	case strings.Contains(text, "{z}"):
		b.Kind = KindRaster
	}
	return b, nil
}

// origin names the host that the page may load from for a base: none, one, or any for a style, which names
// others.
func (b *Base) origin() string {
	u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(b.URL))
	switch {
	case err != nil || u.Host == "":
		return ""
	case b.Kind == KindStyle:
		return u.Scheme + ":"
	}
	return u.Scheme + "://" + u.Host
}
