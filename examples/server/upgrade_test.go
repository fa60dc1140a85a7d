package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// older are programs that an upgrade begins at: commits of this repository, and the newest
// release when there is one.
func older(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{"layout 3 of the file": "8a8554d2874fddc83af8c3cccbe021c7235b704f"}
	if tag, err := exec.CommandContext(t.Context(), "git", "describe", "--tags", "--abbrev=0", "--match", "v*").Output(); err == nil {
		out["the newest release"] = strings.TrimSpace(string(tag))
	}
	return out
}

// built is the program of a commit.
func built(t *testing.T, commit string) string {
	t.Helper()
	dir := t.TempDir()
	if err := exec.CommandContext(t.Context(), "git", "cat-file", "-e", commit+"^{commit}").Run(); err != nil {
		missing := "!! NO UPGRADE WAS PLAYED: the history has no " + commit + ": git fetch --unshallow --tags"
		require.NotEqual(t, "true", os.Getenv("CI"), missing) // a workflow that fetches too little is a fault of its own
		t.Skip(missing)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `cd "$(git rev-parse --show-toplevel)" && git archive "$1" | tar -x -C "$2" && cd "$2" && go build -trimpath -o signalbox ./examples/server`, "sh", commit, dir).CombinedOutput()
	require.NoError(t, err, string(out))
	return filepath.Join(dir, "signalbox")
}

// An older build begins cards; this one takes them over, by the commands of the guide, and
// ends them; the way back is the backup, and the older build says so.
func TestUpgrade(t *testing.T) {
	if os.Getenv("SOAK") == "" {
		t.Skip("make drill plays it, with two builds")
	}
	for name, commit := range older(t) {
		t.Run(name, func(t *testing.T) {
			old := built(t, commit)
			t.Run("sqlite", func(t *testing.T) { drill(t, old, "") })
			t.Run("postgres", func(t *testing.T) { drill(t, old, database(t)) })
		})
	}
}

// drill does what the guide says, with a store at url; empty = SQLite.
func drill(t *testing.T, old, url string) {
	t.Helper()
	r := newNewcomer(t).read()
	install := func(program string) {
		t.Helper()
		at := filepath.Join(filepath.Dir(r.home), "bin", "signalbox")
		require.NoError(t, os.Remove(at))
		require.NoError(t, os.Symlink(program, at))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	install(old)
	d := r.settle()
	if url != "" {
		d.parts.env["DATABASE_URL"] = url
		d.types("export ORCH_DATABASE_URL='" + url + "'")
		d.types(`PATH="$PATH:$(dirname "$(ls /usr/lib/postgresql/*/bin/pg_restore | tail -1)")"`)
	}
	d.serves("signalbox serve")
	d.begins()
	first := d.id
	d.approves()
	d.id = d.kim.begin("app", "My second card")
	waits := func() bool { return d.task(d.id).Hold == "approval" && !owed(d.task(d.id)) }
	d.until("the second one waits", waits)

	running := func() { d.stops(len(d.serve)-1, "TERM") }
	d.follow(steps(t, manual, "Upgrade and roll back"), map[string]func(){
		"stops the server":         running,
		"installs the new program": func() { install(self) },
		"approves what waited": func() {
			require.True(t, d.isOver(first))
			require.True(t, waits())
			d.kim = d.sign()
			d.approves()
		},
		"tries the old program": func() {
			install(old)
			if url == "" {
				require.Contains(t, d.types("! timeout 60 signalbox serve 2>&1"), "the file has layout 4 and this program reads 3: use the newer program")
			}
			install(self)
		},
		"installs the old program": func() { install(old) },
	})
	require.True(t, d.isOver(first))
	require.True(t, waits(), "it stands where it stood")
}
