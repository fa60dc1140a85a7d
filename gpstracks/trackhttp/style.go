package trackhttp

import (
	_ "embed" // style.json
	"encoding/json"
	"net/http"
)

// styled is the style without what it takes from the store: heat, lines and names on paper. Colours are
// after Okabe and Ito, by gpstracks.Activities; gpstracks/web has the same. It names no glyphs: MapLibre
// draws names with the fonts of its machine.
//
//go:embed style.json
var styled []byte

// style answers a style that MapLibre and others load as it is.
func (h *Handler) style(w http.ResponseWriter, r *http.Request) {
	base, ok := h.base(w, r)
	if !ok {
		return
	}
	s, err := h.summary(r.Context())
	if err != nil {
		h.failed(w, r, "style.json", err)
		return
	}
	doc := with(styled, "sources", map[string]any{
		"tracks": map[string]any{"type": "vector", "url": base + h.o.Prefix + "/tiles.json", "attribution": attribution(s.Attributions)},
	})
	if described := TileJSON(s, ""); described["center"] != nil {
		center, _ := described["center"].([]float64)
		doc["center"], doc["zoom"] = center[:2], center[2]
	}
	h.sendJSON(w, r, "application/json", doc)
}

// with is a document of this package with one field more.
func with(document []byte, field string, value any) map[string]any {
	doc := map[string]any{}
	_ = json.Unmarshal(document, &doc) // TestStyle and TestOGC read them
	doc[field] = value
	return doc
}
