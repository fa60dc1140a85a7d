package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fillScript plays the demonstration with its data on a file system of its own that is full, and then has room again, time after
// time; and with each kill the server may find it read-only when it starts again. The last line is how often each happened.
const fillScript = `set -u
mount -t tmpfs -o size=300m trouble "$1/data" || exit 77
"$0" -exit -dir "$1" -speed 8 -seed "$2" -kills "$3" -limit 10m >"$1/out" 2>"$1/err" &
demo=$!
full=0
readonly=0
while kill -0 $demo 2>/dev/null; do
  sleep 4
  dd if=/dev/zero of="$1/data/ballast" bs=64k 2>/dev/null
  full=$((full+1))
  sleep 3
  rm -f "$1/data/ballast"
  if mount -o remount,ro "$1/data" 2>/dev/null; then
    readonly=$((readonly+1))
    sleep 1
    mount -o remount,rw "$1/data"
  fi
done
wait $demo
status=$?
echo "$full $readonly"
exit $status`

// The disk with the service's data fills up time after time, in the middle of whatever is written, and has room again.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("make check plays it")
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o700))
	flags := []string{"-m"}
	if os.Geteuid() != 0 {
		flags = []string{"-rm"}
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append(flags, "sh", "-c", fillScript, os.Args[0], dir, "1", "10")...)
	cmd.Env = append(os.Environ(), "DEMO_MAIN=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code == 77 || code == 1 && out.Len() == 0 {
		t.Skip("no file system can be mounted here: ", errs.String())
	}
	said, _ := os.ReadFile(filepath.Join(dir, "out"))
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	require.NoError(t, err, "%s\n%s", errs.String(), said)
	var s summary
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &s))
	t.Logf("full and read-only: %s", out.String())
	require.Zero(t, s.Lost)
	require.Zero(t, s.Duplicates)
}
