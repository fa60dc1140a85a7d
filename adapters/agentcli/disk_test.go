//go:build linux

package agentcli_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
)

// What an agent has closed in its outbox is in nobody's way: not in that of the next attempt.
func TestLogDisk(t *testing.T) {
	runtime.LockOSThread() // which ends with this test, and root has here what others have
	head, rights := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	require.NoError(t, unix.Capget(&head, &rights[0]))
	rights[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	require.NoError(t, unix.Capset(&head, &rights[0]))
	dir := t.TempDir()
	r := newly(t, options(dir))
	c := command(t, `echo hello; cd $(dirname $SIGNALBOX_REPORT) && mkdir -p closed/full && chmod 0 closed`)
	c.Report = "report.md"
	for range 2 {
		succeeded(t, r.Run(t.Context(), c))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "logs", "other"), 0o700))
	list, err := r.LogDisk().Remains(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.EqualValues(t, 7, list[0].Task)
	name := filepath.Join(dir, "logs", "task-7")
	files, err := os.ReadDir(name)
	require.NoError(t, err)
	later := time.Now().Add(time.Minute)
	require.NoError(t, os.Chtimes(filepath.Join(name, files[0].Name()), later, later))
	require.NoError(t, r.LogDisk().Remove(t.Context(), list[0]))
	require.DirExists(t, name, "written to since it was listed")
	list, err = r.LogDisk().Remains(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.LogDisk().Remove(t.Context(), list[0]))
	require.NoDirExists(t, name)
	require.DirExists(t, filepath.Join(dir, "logs", "other"))
}

// A mark of a run that was killed goes with what is left of the run; half of one too.
func TestMarks(t *testing.T) {
	dir := t.TempDir()
	r := newly(t, options(dir))
	for _, name := range []string{"7.1.1.json", "7.2.1.json.new", "8.1.1.json"} {
		put(t, `{"task_id":7,"token":"x","boot":"before"}`, dir, "state", name)
	}
	list, err := r.Marks().Remains(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 3)
	for _, m := range list {
		if m.Task == 7 {
			require.NoError(t, r.Marks().Remove(t.Context(), m))
		}
	}
	list, err = r.Marks().Remains(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.EqualValues(t, 8, list[0].Task)
}

func contents(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(name)
	require.NoError(t, err)
	return body
}

func newly(t testing.TB, o agentcli.Options) *agentcli.Runner {
	t.Helper()
	r, err := agentcli.New(o)
	require.NoError(t, err)
	return r
}
