package main

import (
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// What a server keeps is copied while it runs; with the server stopped the copy takes the
// place of what came after, which is not thrown away on SQLite. Both stores.
func TestBackupDrill(t *testing.T) {
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			environment(t)
			data := t.TempDir()
			t.Setenv("ORCH_DATA_DIR", data)
			t.Setenv("ORCH_JAIL", "none")
			t.Setenv("ORCH_TRACKER", "board") // whose cards are in the same file
			if store == "postgres" {
				bin, err := exec.Command("sh", "-c", "command -v pg_restore || ls -d /usr/lib/postgresql/*/bin/pg_restore").Output()
				if err != nil {
					t.Skip("pg_dump and pg_restore are not installed")
				}
				t.Setenv("PATH", filepath.Dir(strings.TrimSpace(string(bin)))+":"+os.Getenv("PATH"))
				t.Setenv("ORCH_DATABASE_URL", pgtest.Start(t, pgtest.Options{Durable: true}).URL("postgres")+"&password=hidden")
			}
			open := func() *app.Service {
				settings, err := app.Load(os.Environ())
				require.NoError(t, err)
				service, err := app.Open(t.Context(), settings, []string{"/proc/self/exe"}, slog.New(slog.DiscardHandler))
				require.NoError(t, err)
				return service
			}
			add := func(v *app.Service, item string) {
				id, err := v.DB.NewTaskID(t.Context())
				require.NoError(t, err)
				require.NoError(t, v.DB.Commit(t.Context(), task.Commit{
					Task: &task.Task{ID: id, WorkItemID: item, TrackerIssueID: item, Repo: "acme/app", Branch: item, State: stage.State{Stage: stage.Analysis}},
					Jobs: []queue.Job{{Pool: "later", Kind: item}},
				}))
			}
			work := func(v *app.Service) (out []string) {
				jobs, err := v.DB.Jobs(t.Context(), queue.Filter{Pool: "later"})
				require.NoError(t, err)
				for _, j := range jobs {
					out = append(out, j.Kind)
				}
				return out
			}
			typed, v := typist(t), open()
			add(v, "APP-1")
			dir := filepath.Join(t.TempDir(), "backup")
			typed(0, "backup", dir)
			require.Contains(t, typed(1, "backup", dir), "exists already")
			refused, err := exec.CommandContext(t.Context(), os.Args[0], "restore", dir).CombinedOutput() // by a process of its own
			require.Error(t, err)
			require.Contains(t, string(refused), "stop every server first")
			add(v, "APP-2") // which has to be in the file still: others see it
			kept, err := exec.CommandContext(t.Context(), os.Args[0], "backup", filepath.Join(t.TempDir(), "kept")).CombinedOutput()
			require.NoError(t, err, "%s", kept)
			require.Equal(t, []string{"APP-1", "APP-2"}, work(v))
			require.NoError(t, v.Close())

			require.Contains(t, typed(1, "restore", t.TempDir()), "is not a backup")
			out := typed(0, "restore", dir)
			require.NotContains(t, out, "hidden")
			v = open()
			require.Equal(t, []string{"APP-1"}, work(v))
			add(v, "APP-2")
			require.NoError(t, v.Close())
			newer := filepath.Join(t.TempDir(), "newer")
			was := layOut(t, data, 99)
			typed(0, "backup", newer)
			layOut(t, data, was)
			said := typed(1, "restore", newer)
			require.Regexp(t, `nothing was changed: \S+ was made by signalbox \S+ and this is \S+: .* layout 99 and this program reads \d+: use the newer program`, said)
			require.NotContains(t, said, "kept:")
			v = open()
			require.Equal(t, []string{"APP-1", "APP-2"}, work(v))
			require.NoError(t, v.Close())
			if store == "postgres" {
				require.Regexp(t, `kept: schema signalbox_before_\d+T\d+Z`, out)
			}
			if store == "sqlite" {
				kept := matches(t, filepath.Join(data, "signalbox.db.before-*Z"))
				require.Len(t, kept, 1)
				require.Contains(t, out, "kept: "+kept[0])
			}
		})
	}
}

// layOut has the store say that its tables are of that layout, and returns what it said before.
func layOut(t *testing.T, dataDir string, layout int) (was int) {
	t.Helper()
	driver, at, ask, say := "sqlite", filepath.Join(dataDir, "signalbox.db"), "pragma user_version", "pragma user_version = %d"
	if url := os.Getenv("ORCH_DATABASE_URL"); url != "" {
		driver, at, ask, say = "pgx", url, "select layout from signalbox.turn", "update signalbox.turn set layout = %d"
	}
	db, err := sql.Open(driver, at)
	require.NoError(t, err)
	require.NoError(t, db.QueryRowContext(t.Context(), ask).Scan(&was))
	_, err = db.ExecContext(t.Context(), fmt.Sprintf(say, layout))
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return was
}
