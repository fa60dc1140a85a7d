package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
)

// environ is the environment of the server.
func (w *world) environ() []string {
	out := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(w.data), "WORLD_DIR=" + w.dir}
	for name, value := range w.env {
		if !strings.HasPrefix(name, "WORLD_") && !strings.HasPrefix(name, "ANTHROPIC_") {
			name = app.Prefix + name
		}
		out = append(out, name+"="+value)
	}
	return out
}

// replay runs the replay command in a process of its own, with the server's settings.
func (w *world) replay(args ...string) (out, errs string, code int) {
	w.Helper()
	return w.command("replay", args...)
}

// command runs a command in a process of its own, with the server's settings.
func (w *world) command(name string, args ...string) (out, errs string, code int) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), "/proc/self/exe", append([]string{name}, args...)...)
	cmd.Env = w.environ()
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	_ = cmd.Run() // its exit code is the test's business
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// Journals are decided again beside the server that writes them, and a decision that
// somebody has altered is found and named.
func TestReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, &place{prefix: "APP"})
	_, errs, code := w.replay()
	require.Equal(t, 1, code)
	require.Contains(t, errs, "nothing was decided yet in SQLite, ")
	item := w.cardIn("APP", "Once more", "To Analyse")
	w.approve(item)
	w.reaches(item, "Done")

	out, errs, code := w.replay()
	require.Zero(t, code, out+errs)
	require.Regexp(t, `^APP-1 \(task 1, acme/app\): equal, \d\d decisions\n`, out)
	require.Contains(t, out, "1 journals with ")
	require.Contains(t, out, "present program, features and settings decided")
	var again app.Replay
	for _, task := range []string{"APP-1", "1"} {
		out, errs, code = w.replay("--task", task, "--json")
		require.Zero(t, code, errs)
		require.NoError(t, json.Unmarshal([]byte(out), &again))
		require.Len(t, again.Tasks, 1)
		require.True(t, again.Tasks[0].Equal)
		require.Greater(t, again.Decisions, 10)
	}
	for _, bad := range []struct{ task, want string }{{"APP-9", `no task "APP-9"`}, {" ", "--task: is empty"}} {
		_, errs, code = w.replay("--task", bad.task)
		require.Equal(t, 1, code)
		require.Contains(t, errs, bad.want)
	}

	out, errs, code = w.replay("--against")
	require.Zero(t, code, out+errs)
	require.Regexp(t, `^1 journals with \d\d decisions. None differs.\n$`, out)
	out, errs, code = w.replay("--against", "--set", "QG0_TITLE_MAX=3")
	require.Equal(t, 6, code, out+errs)
	require.Regexp(t, `(?s)^APP-1 \(task 1, acme/app\): 1 of \d\d decisions differ\n  entry 1, to_analyse at .*: other verdict of the gates, later\n`, out)
	require.Contains(t, out, "decisions. other verdict of the gates: 1. later: 1.\n")
	registry := contents(t, w.env["PROJECTS"])
	strict := filepath.Join(t.TempDir(), "strict.yaml")
	require.NoError(t, os.WriteFile(strict, []byte(strings.Replace(string(registry), "repo: acme/app", "repo: acme/app, approvers: [nobody]", 1)), 0o600))
	out, errs, code = w.replay("--against", "--registry", strict, "--json")
	require.Equal(t, 6, code, out+errs)
	var against app.Against
	require.NoError(t, json.Unmarshal([]byte(out), &against))
	require.Equal(t, map[admin.Cause]int{"other person": 1, "later": 1}, against.Causes)
	require.Empty(t, against.Unknown)
	out, errs, code = w.command("backtest")
	require.Zero(t, code, errs)
	require.Regexp(t, `^1 cards since [-0-9]+: 1 the same; together no later\n`, out)
	out, errs, code = w.command("backtest", "--registry", strict)
	require.Zero(t, code, errs)
	require.Contains(t, out, "APP-1 (task 1, acme/app): would have waited, ")
	require.Contains(t, out, " may not set Approved here; the approvers are nobody; then it waits at analysis: a human's verdict on the requirements\n")
	out, errs, code = w.command("backtest", "--html", "--registry", strict)
	require.Zero(t, code, errs)
	require.Contains(t, out, "<dt>would have waited</dt><dd>1</dd>")
	require.Contains(t, out, "Of 1 cards since "+time.Now().AddDate(0, 0, -30).UTC().Format("2 January 2006")+", by "+strict+": together")
	require.Contains(t, out, "a human&#39;s verdict on the requirements</p>")
	_, errs, code = w.replay("--set", "A=b")
	require.Equal(t, 2, code, errs)
	_, errs, code = w.replay("--against", "--set", "NONSENSE=1")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "ORCH_NONSENSE")

	db, err := sql.Open("sqlite", filepath.Join(w.data, "signalbox.db"))
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec(`update journal set payload = replace(payload, '"on":"approved"', '"on":"rejected"') where kind = 'decision'`)
	require.NoError(t, err)
	out, errs, code = w.replay()
	require.Equal(t, 1, code)
	require.Contains(t, out, "differ; the first is\nentry ")
	require.Contains(t, out, `state.stage: "architecture" was recorded, "analysis" is decided now`)
	require.Contains(t, errs, "1 of 1 journals are decided otherwise now")
}

// A database that is not there is no database without differences, and is not made.
func TestReplayOfNothing(t *testing.T) {
	environment(t)
	nowhere := t.TempDir()
	t.Setenv("ORCH_DATA_DIR", nowhere)
	typed := typist(t)
	require.Contains(t, typed(1, "replay"), "ORCH_DATA_DIR: there is no database "+nowhere)
	require.NoFileExists(t, filepath.Join(nowhere, "signalbox.db"))

	s := pgtest.Start(t, pgtest.Options{Durable: true})
	t.Setenv("ORCH_DATABASE_URL", s.URL("postgres")+"&password=hidden")
	out := typed(1, "replay")
	require.Contains(t, out, "nothing was decided yet in PostgreSQL, database postgres at /")
	require.NotContains(t, out, "hidden")
}
