package trackhttp

import (
	"net/http"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// palette are colours after Okabe and Ito, in the order of gpstracks.Activities; gpstracks/web has
// the same.
func palette() []string {
	return []string{"#d55e00", "#cc79a7", "#0072b2", "#56b4e9", "#e69f00", "#009e73", "#222222", "#808080"}
}

// style answers a style that MapLibre and others load as it is: heat, lines and names on paper. It
// names no glyphs: MapLibre draws names with the fonts of its machine.
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
	doc := map[string]any{
		"version": 8, "name": "Public GPS tracks",
		"sources": map[string]any{"tracks": map[string]any{"type": "vector", "url": base + h.o.Prefix + "/tiles.json", "attribution": attribution(s.Attributions)}},
		"layers":  layers(),
	}
	if described := TileJSON(s, ""); described["center"] != nil {
		center, _ := described["center"].([]float64)
		doc["center"], doc["zoom"] = center[:2], center[2]
	}
	h.sendJSON(w, r, "application/json", doc)
}

func layers() []any {
	byZoom := func(stops ...any) []any {
		return append([]any{"interpolate", []any{"linear"}, []any{"zoom"}}, stops...)
	}
	color := []any{"match", []any{"get", "activity"}}
	for i, a := range gpstracks.Activities() {
		color = append(color, string(a), palette()[i%len(palette())])
	}
	layer := func(id, kind, from string, layout, paint map[string]any, zooms map[string]any) map[string]any {
		out := map[string]any{"id": id, "type": kind, "source": "tracks", "source-layer": from, "layout": layout, "paint": paint}
		for name, zoom := range zooms {
			out[name] = zoom
		}
		return out
	}
	return []any{
		map[string]any{"id": "paper", "type": "background", "paint": map[string]any{"background-color": "#f2f1ea"}},
		layer("density", "heatmap", tile.DensityLayer, map[string]any{}, map[string]any{
			"heatmap-weight":    []any{"min", 1, []any{"/", []any{"ln", []any{"+", 1, []any{"get", "count"}}}, 5}},
			"heatmap-intensity": byZoom(0, 1, tile.DensityZoom, 1.6),
			"heatmap-radius":    byZoom(0, 12, tile.DensityZoom, 24),
			"heatmap-color": []any{
				"interpolate", []any{"linear"}, []any{"heatmap-density"}, 0, "rgba(255,237,160,0)", 0.08, "rgba(254,200,110,0.55)", 0.3, "rgba(253,141,60,0.8)",
				0.6, "rgba(227,60,38,0.85)", 1, "rgba(128,0,60,0.9)",
			},
			"heatmap-opacity": byZoom(7, 0.85, tile.DensityZoom, 0.5, tile.DensityZoom+1, 0),
		}, map[string]any{"maxzoom": tile.DensityZoom + 1}),
		layer("lines", "line", tile.Layer, map[string]any{"line-join": "round", "line-cap": "round"}, map[string]any{
			"line-color": append(color, "#808080"), "line-width": byZoom(6, 1.5, 12, 3), "line-opacity": byZoom(4, 0.2, 8, 0.8),
		}, nil),
		layer("names", "symbol", tile.Layer, map[string]any{
			"text-field": []any{"get", "name"}, "text-font": []any{"sans-serif"}, "text-size": 12, "symbol-placement": "line", "text-max-angle": 45, "text-padding": 8,
		}, map[string]any{"text-color": "#111111", "text-halo-color": "#eeeeea", "text-halo-width": 1.6}, map[string]any{"minzoom": 12}),
	}
}
