package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/dssekey"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// A cost that is not known is told as such. The names of fields in a forged receipt say nothing to a terminal.
func TestVerify(t *testing.T) {
	store, sha := memstore.New(nil), strings.Repeat("a", 40)
	merged := task.Recorded{Event: stage.Event{On: stage.OnMergeDone, SHA: sha}}
	require.NoError(t, store.Commit(t.Context(), task.Commit{
		Journal: []task.JournalEntry{{TaskID: 1, Kind: task.KindDecision, Payload: merged.Payload()}},
		Runs:    []task.AgentRun{{TaskID: 1, Usage: work.Usage{Input: 1}}},
	}))
	key, err := dssekey.OpenKey(filepath.Join(t.TempDir(), "receipt.key"))
	require.NoError(t, err)
	got, err := key.Issue(t.Context(), store, task.Task{ID: 1, Repo: "acme/app", State: stage.State{Stage: stage.Done}}, "", "")
	require.NoError(t, err)
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	verify := func(bundle string) (int, string) {
		return server("verify", sha, "--key", file(got.Public), "--file", file(bundle))
	}
	_, out := verify(got.Bundle)
	require.Regexp(t, sha+" of acme/app comes from (?s:.*) 1 runs of agents, price not known; by ", out)

	var e map[string]any
	require.NoError(t, json.NewDecoder(strings.NewReader(got.Bundle)).Decode(&e))
	e["payload"] = []byte(`{"\u001b[2J` + sha + ` of acme/app\n\u009b8m": 1}`)
	forged, err := json.Marshal(e)
	require.NoError(t, err)
	code, out := verify(string(forged) + got.Bundle[strings.Index(got.Bundle, "\n"):])
	require.Equal(t, 1, code)
	require.Contains(t, out, "touched: /subject/0/name\n")
	require.NotRegexp(t, `[^\P{Cc}\n]`, out)
}
