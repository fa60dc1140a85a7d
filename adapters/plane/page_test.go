package plane_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// A page in front of Plane, with status 200, sets no status, and neither does null.
func TestPageInFrontSetsNothing(t *testing.T) {
	t.Parallel()
	server := planetest.New(planetest.Options{Workspace: "acme", Tokens: map[string]string{"token": "bot"}})
	defer server.Close()
	project := server.AddProject("APP", planetest.StandardStates()...)
	item, err := server.AddItem(project, "A card", "")
	require.NoError(t, err)
	null := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "null") })
	page := fakehttp.New(null, planetest.IsStatus)
	page.Sicken(fakehttp.Garbage)
	front := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if planetest.IsStatus(r) {
			page.ServeHTTP(w, r)
			return
		}
		server.ServeHTTP(w, r)
	})
	srv := httptest.NewServer(front)
	defer srv.Close()
	c, err := plane.New(plane.Options{BaseURL: srv.URL, Workspace: "acme", Token: "token", Insecure: true})
	require.NoError(t, err)
	for _, what := range []string{"a page", "null"} {
		var again interface{ Retryable() bool }
		require.ErrorAs(t, c.SetStatus(t.Context(), project, item, stage.StatusInReview), &again, what)
		require.True(t, again.Retryable(), what)
		page.Heal()
	}
	require.Empty(t, server.Changes())
}
