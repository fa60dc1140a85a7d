package command

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// stepsOfRun holds the stream that a server sends of a run.
const stepsOfRun = `:

id: 10
data: {"at":"2031-05-04T08:00:01Z","kind":"text","text":"I look \u001b[31maround"}

id: 20
data: {"at":"2031-05-04T08:00:02Z","kind":"tool","tool":"Bash","text":"make test"}

id: 30
data: {"at":"2031-05-04T08:00:03Z","kind":"file","path":"main.go"}

id: 40
data: {"at":"2031-05-04T08:00:04Z","kind":"usage","usage":{"model":"m","input_tokens":1,"output_tokens":1,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"cost_micro_usd":410000}}

id: 40
event: end
data: {"status":"ok","attempt":2}

`

func TestLogs(t *testing.T) {
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		switch r.URL.Path {
		case "/tasks/3":
			_, _ = w.Write([]byte(`{"id":3,"run":4}`))
		case "/tasks":
			_, _ = w.Write([]byte(`{"tasks":[{"id":8,"repo":"acme/a"},{"id":9,"repo":"acme/b"}]}`))
		case "/tasks/5":
			_, _ = w.Write([]byte(`{"id":5}`))
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, stepsOfRun)
		}
	}))
	defer srv.Close()
	code, out := server("logs", "--server", srv.URL, "3")
	require.Zero(t, code, out)
	require.Equal(t, "08:00:01  text   I look around\n08:00:02  tool   Bash: make test\n08:00:03  file   changes main.go\n08:00:04  usage  0.41 USD so far\nthe run has ended: ok (attempt 2)\n", out)
	code, out = server("logs", "--server", srv.URL, "--json", "-f", "--run", "2", "--attempt", "1", "3")
	require.Zero(t, code, out)
	require.Equal(t, 5, strings.Count(out, "\n"))
	require.Contains(t, out, `{"status":"ok","attempt":2}`)
	require.Equal(t, []string{"/tasks/3", "/tasks/3/runs/4/events?follow=false", "/tasks/3/runs/2/events?attempt=1&follow=true"}, asked)
	code, out = server("logs", "--server", srv.URL, "5")
	require.Equal(t, exitNotFound, code, out)
	code, out = server("logs", "--server", srv.URL, "GPX-7")
	require.Equal(t, exitUsage, code, out)
	require.Contains(t, out, "GPX-7 is task 8 of acme/a and task 9 of acme/b: write the id")
	code, out = server("tasks", "--server", "no address")
	require.Equal(t, exitUsage, code, out)
	require.Contains(t, out, "SIGNALBOX_URL")
}

// A stream that is cut off is taken up behind the last whole event.
func TestStreamThatIsCutOff(t *testing.T) {
	cut := stepsOfRun[:strings.Index(stepsOfRun, `"path"`)]
	var out strings.Builder
	last, ended, err := logsCmd{}.steps(&out, strings.NewReader(cut), "0")
	require.NoError(t, err)
	require.False(t, ended)
	require.Equal(t, "20", last)
	last, ended, err = logsCmd{}.steps(&out, strings.NewReader(stepsOfRun), last)
	require.NoError(t, err)
	require.True(t, ended)
	require.Equal(t, "40", last)
}

// A cancelled task is shown by the names that it had.
func TestShowOfACancelledTask(t *testing.T) {
	var out strings.Builder
	at := time.Unix(1795485138, 0)
	showTask(&out, web.TaskDetail{TaskView: web.TaskView{ID: 6, WorkItemID: task.Tombstone("APP-6", 6, at), Branch: task.Tombstone("feature/APP-6-x", 6, at)}})
	require.Contains(t, out.String(), "APP-6 (task 6, ")
	require.NotContains(t, out.String(), "#cancelled")
}
