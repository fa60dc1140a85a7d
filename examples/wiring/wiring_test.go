package wiring_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/examples/wiring"
)

// Every setting has a name, a meaning, and a default that is good.
func TestList(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range wiring.List(nil) {
		require.NotEmpty(t, s.Doc, s.Name)
		require.False(t, seen[s.Name], s.Name)
		seen[s.Name] = true
	}
	_, err := wiring.Load(nil)
	require.NoError(t, err)
	require.Equal(t, []string{"ORCH_TYPO"}, wiring.Unknown([]string{"ORCH_TYPO=1", "ORCH_LISTEN=x", "PATH=y"}))
}

func Example() {
	_, err := wiring.Load([]string{"ORCH_MAX_CONCURRENCY=0", "ORCH_LOG_FORMAT=xml"})
	fmt.Println(err)
	// Output:
	// ORCH_MAX_CONCURRENCY is 0, want at least 1
	// ORCH_LOG_FORMAT is "xml", want text or json
}
