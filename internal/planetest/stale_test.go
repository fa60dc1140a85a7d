package planetest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/planetest"
)

// A lagging replica answers with the state before the last change.
func TestStaleReads(t *testing.T) {
	s := planetest.New(planetest.Options{Workspace: "w", Tokens: map[string]string{"t": "bot"}})
	t.Cleanup(s.Close)
	p := s.AddProject("GPX", "One", "Two")
	id, err := s.AddItem(p, "n", "d")
	require.NoError(t, err)
	state := func() string {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/workspaces/w/projects/"+p+"/work-items/"+id+"/", nil)
		r.Header.Set("X-Api-Key", "t")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		var item struct{ State string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &item), w.Body.String())
		return item.State
	}
	states := s.States(p)
	require.NoError(t, s.Move(id, "Two"))
	require.Equal(t, states[1].ID, state())
	s.SetFaults(planetest.Faults{Stale: 1})
	require.Equal(t, states[0].ID, state())
	s.SetFaults(planetest.Faults{})
	require.Equal(t, states[1].ID, state())
}
