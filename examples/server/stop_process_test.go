package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/queue"
)

// hostile is an agent that does everything to outlive a STOP: it double-forks,
// makes sessions of its own, drops its environment, keeps its output open,
// ignores TERM, has children that fork on for ever, puts symbolic links to other
// people's files into its checkout, and never stops committing.
const hostile = `
trap '' TERM HUP INT
own=$(git rev-parse --git-dir)
mkdir -p "$own/info"
echo /link >"$own/info/exclude" # an architect may not commit it
ln -s "$WORLD_DIR/outside" link
ln -s "$WORLD_DIR/outside/file" "$docs/link"
echo hostile >"$docs/requirements.md"
keep
(setsid sh -c 'trap "" TERM HUP; exec sleep MARK' &)
(env -i PATH="$PATH" setsid sh -c 'trap "" TERM HUP; cd /; exec sleep MARK' &)
(setsid sh "$WORLD_DIR/spin.sh" MARK &)
touch "$WORLD_DIR/MARK.started"
n=0
while :; do n=$((n+1)); echo $n >"$docs/n"; keep; echo noise; done
`

// spin is a process that is another one before it can be ended.
const spin = `trap '' TERM HUP
sleep 0.01 # so that the machine is left to others too
setsid sh "$0" "$1" &
exit 0
`

// arm makes an agent of a work item hostile, and returns what its processes are
// known by.
func (w *world) arm(workItem string) (mark string) {
	w.Helper()
	mark = fmt.Sprintf("86400.%d%09d", os.Getpid(), rand.Int32())
	w.write("spin.sh", spin)
	w.write(workItem+"-architect", strings.ReplaceAll(hostile, "MARK", mark))
	require.NoError(w, os.MkdirAll(w.path("outside"), 0o700))
	w.write("outside/file", "not yours\n")
	w.Cleanup(func() { // what a failed test leaves
		for range 100 {
			left := w.living(workItem, mark)
			for _, p := range left {
				var pid int
				if _, err := fmt.Sscan(p, &pid); err == nil {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			if len(left) == 0 {
				return
			}
		}
	})
	return mark
}

// living are the processes of a work item's agents, by their environment, their
// arguments or the directory they work in.
func (w *world) living(workItem, mark string) (out []string) {
	w.Helper()
	dirs := matches(w, "/proc/[0-9]*")
	for _, d := range dirs {
		line, _ := os.ReadFile(d + "/cmdline") // a process that has ended meanwhile says nothing
		env, _ := os.ReadFile(d + "/environ")
		cwd, _ := os.Readlink(d + "/cwd")
		stat, _ := os.ReadFile(d + "/stat")
		ours := bytes.Contains(env, []byte("WORLD_DIR="+w.dir+"\x00")) && bytes.Contains(env, []byte("SIGNALBOX_WORK_ITEM="+workItem+"\x00"))
		if dead := bytes.Contains(stat, []byte(") Z ")); !dead && (ours || bytes.Contains(line, []byte(mark)) || strings.HasPrefix(cwd, w.checkout(workItem))) {
			out = append(out, fmt.Sprintf("%s %q", filepath.Base(d), line))
		}
	}
	return out
}

// checkout is where a work item's agents work.
func (w *world) checkout(workItem string) string {
	return filepath.Join(w.data, "git/work", "acme--"+strings.ToLower(strings.Split(workItem, "-")[0]), workItem)
}

func (w *world) heads(prefix string) map[string]string { return w.host.Heads(w.places[prefix].repo) }

// owed reports whether a task has unfinished jobs.
func owed(t web.TaskDetail) bool {
	return slices.ContainsFunc(t.Jobs, func(j web.JobView) bool { return !j.Status.Terminal() })
}

// began brings a card's hostile architect to work, and returns the task as it is then.
func (w *world) began(item, mark string) web.TaskDetail {
	w.Helper()
	w.move(item, "To Analyse")
	w.approve(item)
	w.until("the hostile agent works and its branch is published", func() bool {
		_, err := os.Stat(w.path(mark + ".started"))
		t := w.task(item)
		return err == nil && w.heads(prefixOf(t.WorkItemID))[t.Branch] != "" && len(w.living(t.WorkItemID, mark)) >= 5
	})
	return w.task(item)
}

func prefixOf(workItem string) string { return strings.Split(workItem, "-")[0] }

// cancelled waits until a card's task is cancelled and all is cleared away.
func (w *world) cancelled(item string) web.TaskDetail {
	w.Helper()
	w.until("the task is cancelled and cleared away", func() bool {
		t := w.task(item)
		return t.Stage == stage.Cancelled && !owed(t)
	})
	return w.task(item)
}

// gone asserts that nothing is left of a stopped task but what is to be kept.
func (w *world) gone(before, after web.TaskDetail, mark string) {
	w.Helper()
	require.Empty(w, w.living(before.WorkItemID, mark))
	require.NoFileExists(w, w.checkout(before.WorkItemID))
	repo := filepath.Join(w.data, "git/repos", filepath.Base(filepath.Dir(w.checkout(before.WorkItemID))), before.WorkItemID+".git")
	require.NoFileExists(w, repo)
	require.Equal(w, "not yours\n", w.read("outside/file"), "what links in the checkout point to is not touched")
	for key, was := range map[string]string{after.TrackerIssueID: before.TrackerIssueID, after.WorkItemID: before.WorkItemID, after.Branch: before.Branch} {
		original, dead := task.ParseTombstone(key)
		require.True(w, dead, key)
		require.Equal(w, was, original)
	}
	require.False(w, after.CancelRequestedAt.IsZero() || after.CancelledAt.IsZero())
	mirror := filepath.Join(w.data, "git/mirrors", filepath.Base(filepath.Dir(repo))+".git")
	kept := fmt.Sprintf("refs/signalbox/kept/%s-%d:docs/work/%s/requirements.md", before.WorkItemID, before.ID, before.WorkItemID)
	require.Equal(w, "hostile", w.git(mirror, "show", kept), "the documents are kept")
	agents := slices.DeleteFunc(slices.Clone(after.Jobs), func(j web.JobView) bool { return j.Pool != queue.PoolAgents })
	require.Equal(w, queue.Cancelled, agents[len(agents)-1].Status)
}

// A STOP ends whatever an agent does to outlive it, and clears away what is ours.
func TestStopOfRealAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, &place{prefix: "HOS"}, &place{prefix: "WIN"}, &place{prefix: "MRG"})
	for name, test := range map[string]func(*world){"hostile": stopHostile, "deployment": stopDeployment, "merge": stopMerge} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(w.in(t))
		})
	}
}

func stopHostile(w *world) {
	main := w.heads("HOS")["main"]
	mark := w.arm("HOS-1")
	item := w.card("HOS", "Never ends")
	before := w.began(item, mark)
	w.move(item, "STOP")
	w.move(item, "Blocked") // and once more, in a hurry
	w.move(item, "STOP")
	after := w.cancelled(item)
	w.gone(before, after, mark)
	require.Equal(w, map[string]string{"main": main}, w.heads("HOS"), "the branch is gone, main is where it was")
	require.Equal(w, "STOP", w.column(item))
	require.Equal(w, 409, w.post(fmt.Sprintf("/tasks/%d/stop", after.ID)), "an operator's STOP comes too late and is refused")
	w.until("nothing is owed", func() bool { return !owed(w.task(item)) })
	cancels := slices.DeleteFunc(w.task(item).Jobs, func(j web.JobView) bool { return j.Kind != "effect/cancel" })
	require.Len(w, cancels, 1, "it is cleared away once")

	require.NoError(w, os.Remove(w.path("HOS-1-architect")))
	w.move(item, "To Analyse")
	w.approve(item)
	w.reaches(item, "Done")
	list := w.tasks(item)
	require.Len(w, list, 2)
	again := list[1]
	require.Equal(w, []string{before.WorkItemID, before.Branch}, []string{again.WorkItemID, again.Branch}, "the names are free")
	require.Equal(w, "HOS-1", w.git(w.places["HOS"].bare, "show", "main:src/HOS-1"))
	require.Equal(w, "r", w.git(w.places["HOS"].bare, "show", "main:docs/work/HOS-1/requirements.md"), "with new documents")
	stopped := slices.DeleteFunc(w.runs("HOS-1"), func(r string) bool { return !strings.Contains(r, fmt.Sprintf("task=%d ", before.ID)) })
	require.Len(w, stopped, 2, "analyst and architect; the stopped one never ran again")
	require.Empty(w, w.living(before.WorkItemID, mark))
}

// In the middle of a deployment STOP waits until that has finished.
func stopDeployment(w *world) {
	w.write("WIN-1-deployerdeploy", `touch "$WORLD_DIR/deploying"; await "$WORLD_DIR/deploy"`+"\n")
	item := w.cardIn("WIN", "Cannot be undone", "To Analyse")
	w.approve(item)
	w.until("the deployer works", func() bool { _, err := os.Stat(w.path("deploying")); return err == nil })
	branch := w.task(item).Branch
	w.move(item, "STOP")
	var v struct {
		Stop struct{ Stopping []struct{ TaskID int64 } }
	}
	w.until("the STOP is noted", func() bool { return w.get("/queue", &v) && len(v.Stop.Stopping) > 0 })
	require.Equal(w, stage.Deploy, w.task(item).Stage)
	w.write("deploy", "")
	after := w.cancelled(item)
	require.Equal(w, after.MergeSHA+"\n", w.read("deployed-WIN-1"), "the deployment has finished, and was made once")
	require.Equal(w, after.MergeSHA, w.heads("WIN")["main"])
	require.NotContains(w, w.heads("WIN"), branch)
}

// The same in the middle of a merge.
func stopMerge(w *world) {
	release := w.holdMerges("MRG")
	item := w.cardIn("MRG", "Is being merged", "To Analyse")
	w.approve(item)
	w.until("the merge is under way", func() bool { return w.isMerging("MRG") })
	w.move(item, "STOP")
	w.until("the STOP is noted", func() bool { t := w.task(item); return !t.CancelRequestedAt.IsZero() && t.Stage == stage.Deploy })
	release()
	after := w.cancelled(item)
	require.NotEmpty(w, after.MergeSHA)
	require.Equal(w, after.MergeSHA, w.heads("MRG")["main"], "what was merged stays merged")
	require.Empty(w, w.read("deployed-MRG-1"), "and what had not begun does not begin any more")
}

// The server is killed in the middle of a STOP: the next one finishes it. Then
// the agents' shim is killed as well, which lets everything out of sight.
func TestStopOutlivesTheServer(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"server", "server and shim"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A box of namespaces ends with its agent, whatever else lives in there: nobody would have a second.
			w := newWorld(t, map[string]string{"AGENT_TERM_GRACE": "1s", "JOB_TTL": "2s", "JAIL": "landlock"}, &place{prefix: "KIL"})
			mark := w.arm("KIL-1")
			item := w.card("KIL", "Killed in between")
			before := w.began(item, mark)
			record := fmt.Sprintf("../%s/running/%d.2.1.json", filepath.Join(filepath.Base(filepath.Dir(w.data)), "data"), before.ID)
			w.until("the shim notes who has dropped the mark", func() bool { return strings.Contains(w.read(record), `"strays"`) })
			w.move(item, "STOP")
			w.until("the STOP is decided", func() bool { return w.task(item).Stage == stage.Cancelled })
			require.NotEmpty(t, w.living(before.WorkItemID, mark), "they have a second for themselves")
			require.Contains(t, w.heads("KIL"), before.Branch, "and nothing is cleared away yet")
			server, _ := w.process()
			if name == "server and shim" {
				for _, pid := range w.children(server.Process.Pid) {
					require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
				}
			}
			w.end(syscall.SIGKILL)
			w.start()
			after := w.cancelled(item)
			w.gone(before, after, mark)
			require.NotContains(t, w.heads("KIL"), before.Branch)
			w.end(syscall.SIGTERM)
			w.start() // the reaper of a new process finds nothing to run again
			w.until("the reaper has looked", func() bool { return w.get("/queue", &struct{}{}) })
			require.Len(t, w.runs("KIL-1"), 2, "the analyst, and the architect that was stopped")
		})
	}
}

// children are the processes that a process has started.
func (w *world) children(pid int) (out []int) {
	w.Helper()
	lists := matches(w, fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		body, _ := os.ReadFile(list) // a thread may have ended
		for _, f := range strings.Fields(string(body)) {
			var n int
			_, err := fmt.Sscan(f, &n)
			require.NoError(w, err)
			out = append(out, n)
		}
	}
	return out
}
