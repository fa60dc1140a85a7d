package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
)

// measured checks that an expression names metrics and labels that exist.
func measured(t *testing.T, expr string) {
	t.Helper()
	known := map[string][]string{"signalbox_build_info": {"version", "go"}, "signalbox_panics_total": nil, "signalbox_jail": {"kind"}}
	for _, d := range orchestrator.Declared() {
		names := []string{"signalbox_" + d.Name}
		if d.Kind == orchestrator.KindHistogram {
			names = []string{names[0] + "_bucket", names[0] + "_count", names[0] + "_sum"}
			d.Labels = append(d.Labels, "le")
		}
		for _, name := range names {
			known[name] = d.Labels
		}
	}
	found := regexp.MustCompile(`(signalbox_\w+)(?:\{([^}]*)\})?`).FindAllStringSubmatch(expr, -1)
	require.NotEmpty(t, found, expr)
	var labels []string
	for _, f := range found {
		require.Contains(t, known, f[1], expr)
		labels = append(labels, known[f[1]]...)
		for _, l := range regexp.MustCompile(`(\w+)\s*[=!]`).FindAllStringSubmatch(f[2], -1) {
			require.Contains(t, known[f[1]], l[1], expr)
		}
	}
	for _, by := range regexp.MustCompile(`by \(([^)]*)\)`).FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(by[1], ",") {
			require.Contains(t, labels, strings.TrimSpace(label), expr)
		}
	}
	require.Equal(t, strings.Count(expr, "("), strings.Count(expr, ")"), expr)
}

// The alerts are about metrics that exist, and each says what is to be done.
func TestAlerts(t *testing.T) {
	body := contents(t, "packaging/monitoring/alerts.yaml")
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	require.NoError(t, yaml.UnmarshalWithOptions(body, &file, yaml.Strict()))
	var names []string
	for _, r := range file.Groups[0].Rules {
		measured(t, r.Expr)
		require.Contains(t, []string{"page", "warn", "info"}, r.Labels["severity"], r.Alert)
		require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		require.NotEmpty(t, r.Annotations["description"], r.Alert)
		require.NotContains(t, names, r.Alert)
		names = append(names, r.Alert)
	}
	require.GreaterOrEqual(t, len(names), 10)
}

// The dashboard's panels are about metrics that exist, do not overlap, and take the data
// source that is chosen.
func TestGrafana(t *testing.T) {
	body := contents(t, "packaging/monitoring/grafana.json")
	var board struct {
		Templating struct{ List []struct{ Name string } }
		Panels     []struct {
			ID         int
			Title      string
			GridPos    struct{ X, Y, W, H int }
			Datasource struct{ UID string }
			Targets    []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(body, &board))
	require.Equal(t, "datasource", board.Templating.List[0].Name)
	var ids []int
	taken := map[[2]int]string{}
	for _, p := range board.Panels {
		require.NotContains(t, ids, p.ID, p.Title)
		ids = append(ids, p.ID)
		require.Equal(t, "${datasource}", p.Datasource.UID, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			measured(t, target.Expr)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				require.Less(t, x, 24, p.Title)
				require.Empty(t, taken[[2]int{x, y}], p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}
