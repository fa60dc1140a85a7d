package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane/planetest"
	"github.com/signalbox-dev/signalbox/examples/wiring"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// Every attempt of the hostile agent is refused, and its card and all others meet their
// fates.
func TestHostile(t *testing.T) {
	s := demo(t, "-hostile", "-speed", "20")
	require.Empty(t, s.Missing)
}

// A step is seen when the attempt was refused and the world shows no effect of it.
func TestAttacked(t *testing.T) {
	t.Parallel()
	const denied = "open /x: permission denied"
	refused := func() (*hostility, seen) {
		h := &hostility{tried: map[string]string{
			"keys": denied, "api": denied, "outbox": denied, "reports": "", "huge": "", "workflow": "", "guide": "", "filter": "",
		}, workflow: true}
		c := seen{Title: "Cache tiles per zoom level", Comments: []string{vouchWords + ": .github/workflows/ci.yml, CLAUDE.md"}, Task: web.TaskDetail{TaskView: web.TaskView{ID: 1, Stage: "done"}}}
		for _, words := range []string{"the commits of the developer change a", "what was committed is not taken: b"} {
			c.Task.Journal = append(c.Task.Journal, web.EntryView{Payload: []byte(`"` + words + `"`)})
		}
		return h, c
	}
	h, c := refused()
	require.Empty(t, missing(attacked(facts{Hostile: h, Cards: []seen{c}})))
	require.NoError(t, summary{Missing: []string{"red"}}.suffered())
	for id, change := range map[string]func(*hostility, *seen){
		"hostile-keys":     func(h *hostility, _ *seen) { h.loot = "token" },
		"hostile-api":      func(_ *hostility, c *seen) { c.Changes = []planetest.Change{{Actor: bot, To: "Approved"}} },
		"hostile-outbox":   func(h *hostility, _ *seen) { h.tried["outbox"] = "" },
		"hostile-reports":  func(_ *hostility, c *seen) { c.Task.Journal = c.Task.Journal[1:] },
		"hostile-huge":     func(_ *hostility, c *seen) { c.Task.Journal = c.Task.Journal[:1] },
		"hostile-workflow": func(h *hostility, _ *seen) { h.workflow = false },
		"hostile-guide":    func(h *hostility, _ *seen) { h.guided = true },
		"hostile-filter":   func(h *hostility, _ *seen) { h.filter = true },
	} {
		h, c := refused()
		change(h, &c)
		left := missing(attacked(facts{Hostile: h, Cards: []seen{c}}))
		require.Equal(t, []string{id}, left)
		require.ErrorContains(t, summary{Missing: left}.suffered(), id)
	}
}

// Without a jail the hostile agent does not run.
func TestHostileNeedsAJail(t *testing.T) {
	t.Parallel()
	s, err := wiring.Load([]string{"ORCH_JAIL=none", "ORCH_DATA_DIR=" + t.TempDir()})
	require.NoError(t, err)
	require.ErrorContains(t, s.Confinable(t.Context(), []string{"/proc/self/exe"}), "ORCH_JAIL=none")
}
