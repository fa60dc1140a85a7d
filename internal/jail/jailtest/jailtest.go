//go:build linux

// Package jailtest has tests go through every kind of jail that the machine has.
package jailtest

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Landlock is the kind of the jail that has no box.
const Landlock = "landlock"

// Kinds are the jails that there are, in the order of reports.
func Kinds() []string { return []string{Landlock, work.BoxBubblewrap, work.BoxContainer} }

// Skip skips a test, and says so where "go test" without -v does not hide it from "make
// test-jail".
func Skip(t *testing.T, what string, why ...any) {
	t.Helper()
	fmt.Fprintf(os.Stdout, "jail: %s: SKIPPED: %s\n", what, strings.TrimSpace(fmt.Sprintln(why...)))
	t.Skip(why...)
}

// Box finds the program of a kind of jail and proves that it works here; else the test is
// skipped with the reason. Shim is a command that ends in a shim.
func Box(t *testing.T, kind string, shim []string) work.Box {
	t.Helper()
	box := work.Box{}
	var err error
	switch kind {
	case work.BoxBubblewrap:
		box.Kind = kind
		if box.Program, err = exec.LookPath("bwrap"); err != nil {
			Skip(t, kind, "bubblewrap is not installed (apt-get install bubblewrap)")
		}
	case work.BoxContainer:
		if testing.Short() {
			Skip(t, kind, "containers take a minute, which -short does not have")
		}
		// The network is the machine's, so that its ports are Landlock's to close.
		box = work.Box{Kind: kind, Image: "localhost/signalbox-test", Network: "host", Env: os.Environ()}
		if box.Program, err = exec.LookPath("podman"); err != nil {
			Skip(t, kind, "podman is not installed (apt-get install podman)")
		}
		cmd := exec.CommandContext(t.Context(), box.Program, "import", "-", box.Image)
		cmd.Stdin = bytes.NewReader(places(t))
		if out, err := cmd.CombinedOutput(); err != nil {
			Skip(t, kind, fmt.Sprintf("no image can be made: %v: %s", err, out))
		}
	}
	proof, err := jail.Prove(t.Context(), shim, t.TempDir(), System(box).And(work.Jail{Ports: []work.Ports{{First: 1024, Last: 65535}}}))
	if err != nil && kind != Landlock {
		Skip(t, kind, err)
	}
	require.NoError(t, err)
	require.Empty(t, proof.Weak)
	require.Equal(t, box.Kind, proof.Box)
	return box
}

// System returns what executions in a box may read: in a container the machine's programs, for
// its image has none.
func System(box work.Box) work.Jail {
	j := jail.System()
	if box.Kind == work.BoxContainer {
		j.Read = []string{"/usr"}
	}
	j.Box = box
	return j
}

// places is an image of nothing but places to mount the machine's own at.
func places(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range []string{"usr", "etc", "proc", "sys", "dev", "tmp", "run", "var"} {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: 0o755}))
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: "usr/" + name, Mode: 0o777}))
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}
