package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// fill gives a play's data a file system of its own. Until the play ends that is full from time to time, and after a kill the server
// may find it read-only.
const fill = `dir=$1 && shift && mkdir "$dir/data" && mount -t tmpfs -o size=300m none "$dir/data" || exit
"$0" -exit -dir "$dir" "$@" &
while sleep 20 && kill -0 $!; do
  dd if=/dev/zero of="$dir/data/ballast" bs=64k
  sleep 1
  rm "$dir/data/ballast"
  echo >>"$dir/full"
  mount -o remount,ro "$dir/data" && sleep 1
  mount -o remount,rw "$dir/data"
done 2>/dev/null
wait $!`

// The disk with the service's data fills up time after time, in the middle of whatever is written.
func TestFullDisk(t *testing.T) {
	long(t)
	mounts := []string{"unshare", "-m"}
	if os.Geteuid() != 0 {
		mounts = []string{"unshare", "-rm"}
	}
	if err := exec.CommandContext(t.Context(), mounts[0], append(mounts[1:], "mount", "-t", "tmpfs", "none", t.TempDir())...).Run(); err != nil {
		t.Skip("no file system can be mounted here: ", err)
	}
	dir := t.TempDir()
	s := playedBy(t, append(mounts, "sh", "-c", fill, os.Args[0], dir, "-speed", "8", "-kills", "10", "-limit", "20m")...)
	judge(t, s)
	full, err := os.ReadFile(filepath.Join(dir, "full"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(full), 3, "times")
	log, err := os.ReadFile(filepath.Join(dir, "server.log"))
	require.NoError(t, err)
	hindered := bytes.Count(log, []byte("an agent cannot work"))
	require.Less(t, s.Retries-hindered, 8, "three are planned; a kill may be one, and the lack of room none")
}
