package agentcli_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// What an agent prints, says and reports leaves without the secrets that it was given, and
// without those of the service; nothing else is changed.
func TestSecretsStayInside(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-very-secret-value")
	r := newRunner(t, func(o *agentcli.Options) { o.EnvAllow = append(agentcli.DefaultEnv(), "OPENAI_API_KEY") })
	c := command(t, `echo "401 for $OPENAI_API_KEY" >&2; printf '%s' '{"type":"result","subtype":"success","is_error":false,"result":"it is \u0073k-very-secret-value"}'
		echo "value: $OPENAI_API_KEY" >"$SIGNALBOX_REPORT"; printf "x$OPENAI_API_KEY" | base64 >&2`)
	c.Report = "report.md"
	res := r.Run(t.Context(), c)
	succeeded(t, res)
	require.Equal(t, "it is ********************", res.Summary, "it is escaped in the log")
	errs := contents(t, strings.TrimSuffix(res.LogPath, ".out")+".err")
	require.Equal(t, "401 for ********************\neH**************************\n", string(errs))
	report, err := r.Report(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, "value: ********************\n", report)
	kept, err := filepath.Glob(filepath.Join(filepath.Dir(res.LogPath), "outbox-*", "report.md"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.Equal(t, report, string(contents(t, kept[0])))

	c = command(t, `echo "401 for $OPENAI_API_KEY" >&2; exit 1`)
	require.Equal(t, "exit code 1: 401 for ********************", r.Run(t.Context(), c).Reason)
}

// A log is read without secrets while its agent works, too.
func TestSecretsInLiveLogs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newRunner(t, func(o *agentcli.Options) { o.Hidden = secret.NewRedactor("very-secret-value") })
	c := work.Command{TaskID: 7, Role: stage.Tester, Run: 1, Attempt: 1, Dir: dir, Agent: work.Agent{Use: script(t, dir, "echo it is very-secret-value; touch printed; while ! [ -e read ]; do sleep 0.01; done")}}
	ended := make(chan work.Result)
	go func() { ended <- r.Run(context.Background(), c) }()
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "printed")); return err == nil }, time.Minute, 5*time.Millisecond)
	f, err := r.OpenLog(t.Context(), work.LogName{TaskID: 7, Role: stage.Tester, Run: 1, Attempt: 1})
	require.NoError(t, err)
	defer f.Close()
	body, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, "it is *****************\n", string(body))
	put(t, "", dir, "read")
	require.Equal(t, work.ResultOK, (<-ended).Kind)
}

// The log of a run that died with its service is cleaned when that is cleared away.
func TestSecretsInLogsOfTheDead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newRunner(t, func(o *agentcli.Options) {
		o.StateDir, o.Hidden = filepath.Join(dir, "state"), secret.NewRedactor("very-secret-value")
	})
	log := filepath.Join(dir, "001-tester-1.out")
	require.NoError(t, os.WriteFile(log, []byte("it is very-secret-value\n"+strings.Repeat("x", 5000)), 0o600))
	record := `{"task_id": 7, "token": "t", "dir": "/nowhere", "boot": "an earlier one", "log": "` + log + `"}`
	put(t, record, dir, "state", "7.1.1.json")
	require.NoError(t, r.Quiesce(t.Context(), 7))
	body := contents(t, log)
	require.Contains(t, string(body), "it is *****************\nxxx")
	require.LessOrEqual(t, len(body), 4096)
	require.NoFileExists(t, filepath.Join(dir, "state", "7.1.1.json"))
}
