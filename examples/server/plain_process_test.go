package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// ciScript is the CI of a repository without a host: it says what it builds, waits while it
// is held, and does not build what is broken.
const ciScript = `#!/bin/sh
echo "building $SIGNALBOX_WORK_ITEM"
echo "$SIGNALBOX_SHA" >>WORLD/ci-runs
while [ -e WORLD/ci-held ]; do sleep 0.02; done
if grep -rq broken src; then echo "src does not build"; exit 1; fi
`

// branches are the branches of a bare repository, by name.
func (w *world) branches(prefix string) map[string]string {
	w.Helper()
	out := map[string]string{}
	for line := range strings.Lines(w.git(w.places[prefix].bare, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")) {
		name, sha, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[name] = sha
	}
	return out
}

// A repository without a git host, and no account anywhere: CI is run by the service, which
// is killed in the middle of it; main is moved by a person meanwhile, and becomes what was
// tested on top of that. What people merge by hand is seen.
func TestNoHost(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"GITHUB_TOKEN": "", "GITHUB_WEBHOOK_SECRET": "", "GIT_POLL": "200ms", "MONITOR_ENABLED": "false"}
	w := newWorld(t, settings, &place{prefix: "PLN", plain: true, more: ", ci: [[./ci.sh]]"})
	person := filepath.Join(w.dir, "seed-PLN")
	push := func(name, body string) string {
		w.git(person, "pull", "--quiet", "--rebase", "origin", "main")
		sha := w.commit(person, name, body)
		w.git(person, "push", "--quiet", "origin", "HEAD:main")
		return sha
	}
	require.NoError(t, os.WriteFile(filepath.Join(person, "ci.sh"), nil, 0o700))
	push("ci.sh", strings.ReplaceAll(ciScript, "WORLD", w.dir))
	w.write("PLN-1-developer", `mkdir -p src; if [ -z "$SIGNALBOX_FEEDBACK" ]; then echo broken >src/a; else rm -f src/a; printf '%s\n' "$SIGNALBOX_FEEDBACK" >>"$WORLD_DIR/feedback"; fi`+"\n")
	w.write("PLN-1-reviewer", `await "$WORLD_DIR/review"`+"\n")
	w.write("ci-held", "")

	item := w.cardIn("PLN", "No host at all", "To Analyse")
	w.approve(item)
	w.until("CI runs", func() bool { return w.read("ci-runs") != "" })
	var x explain.Explanation
	w.until("it is explained", func() bool {
		return w.get("/tasks/1/explain", &x) && x.Summary == "Waits for CI, which the service runs."
	})
	w.Log("the service is killed in the middle of it")
	w.end(syscall.SIGKILL)
	w.until("nothing of it is left", func() bool { return len(w.processes("ci.sh")) == 0 })
	w.start()
	w.until("CI runs again", func() bool { return strings.Count(w.read("ci-runs"), "\n") == 2 })
	first := strings.Fields(w.read("ci-runs"))
	require.Equal(t, first[0], first[1], "the same commit")
	require.NoError(t, os.Remove(w.path("ci-held")))
	w.until("the developer hears of it", func() bool { return strings.Contains(w.read("feedback"), "src does not build") })
	require.Contains(t, w.read("feedback"), "./ci.sh failed: exit code 1: building PLN-1\nsrc does not build")

	w.at(item, stage.Review, stage.Reviewer)
	theirs := push("theirs", "a person works on main")
	w.write("review", "")
	w.ends(item)
	task := w.task(item)
	require.Equal(t, task.MergeSHA, w.branches("PLN")["main"])
	require.Equal(t, theirs, w.git(w.places["PLN"].bare, "merge-base", theirs, task.MergeSHA), "on top of what the person has pushed")
	require.Contains(t, w.read("ci-runs"), task.MergeSHA+"\n", "the very commit was tested")
	require.Equal(t, task.MergeSHA+"\n", w.read("deployed-PLN-1"))
	require.NotContains(t, w.branches("PLN"), task.Branch)
	require.Empty(t, task.PullRequest)
	page := w.page("/dashboard/tasks/1")
	require.Contains(t, page, "./ci.sh: exit code 0 (at ")
	require.NotContains(t, page, "blob/")
	require.Equal(t, "$ ./ci.sh\nbuilding PLN-1\n", w.page("/dashboard/tasks/1/ci"))
	require.NotContains(t, strings.Join(w.said(item, "bot"), "\n"), "http")

	w.Log("a merge by hand is seen")
	w.write("PLN-2-reviewer", "await $WORLD_DIR/never\n")
	item = w.card("PLN", "Merged by hand")
	w.move(item, "To Analyse")
	w.approve(item)
	w.at(item, stage.Review, stage.Reviewer)
	branch := w.task(item).Branch
	w.git(w.places["PLN"].bare, "update-ref", "refs/heads/main", w.branches("PLN")[branch])
	w.ends(item)
	require.NotContains(t, w.branches("PLN"), branch)
	require.Empty(t, w.read("deployed-PLN-2"))
}

// processes are those that run a file, by their numbers.
func (w *world) processes(name string) (out []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		line, _ := os.ReadFile(d + "/cmdline")
		if strings.Contains(string(line), name) && strings.Contains(string(line), w.data) {
			out = append(out, filepath.Base(d))
		}
	}
	return out
}
