package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/prompt"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// hookScript is a program of main that is every hook: it writes down which one it was, and for
// whom; once it fails.
const hookScript = `#!/bin/sh
echo "$SIGNALBOX_ROLE $1" >>WORLD/hooks
echo "this is $1"
case "$1" in
install) mkdir -p deps; echo installed >deps/list ;;
up) [ -e WORLD/up-once ] || [ "$SIGNALBOX_ROLE" != developer ] || { touch WORLD/up-once; echo "port 5432 is taken" >&2; exit 3; } ;;
esac
`

// The whole service with a team's own assignments, from the registry and from main, and hooks:
// programs of main, in the agent's checkout and jail.
func TestPromptsAndHooks(t *testing.T) {
	t.Parallel()
	const registry, repository = "Registry says: {{.Default}}", "Main says: {{.WorkItem}} on {{.Branch}}.\n"
	settings := map[string]string{"GITHUB_TOKEN": "", "GITHUB_WEBHOOK_SECRET": "", "GIT_POLL": "200ms", "MONITOR_ENABLED": "false", "AGENT_RETRY_DELAYS": "200ms,1s"}
	w := newWorld(t, settings, &place{prefix: "HKS", plain: true, more: `, keep: [deps], prompts: {reviewer: "` + registry + `"}, deploy: {staging: "make staging"}` +
		", hooks: {after_create: [[./bin/hook, install]], before_run: [[./bin/hook, up]], after_run: [[./bin/hook, down]], timeout: 30s}"})
	person := filepath.Join(w.dir, "seed-HKS")
	require.NoError(t, os.MkdirAll(filepath.Join(person, "bin"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(person, "bin", "hook"), nil, 0o700))
	for name, body := range map[string]string{
		"bin/hook": strings.ReplaceAll(hookScript, "WORLD", w.dir), ".gitignore": "deps\n",
		".signalbox/developer.md": repository, ".signalbox/reviewer.md": "The registry comes first.", ".signalbox/tester.md": "one\n{{.Title}}\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(person, name)), 0o700))
		w.commit(person, name, body)
	}
	w.git(person, "push", "--quiet", "origin", "HEAD:main")
	keep := `cp "$SIGNALBOX_PROMPT_FILE" "$WORLD_DIR/prompt-$SIGNALBOX_ROLE$SIGNALBOX_PHASE"; cat deps/list >>"$WORLD_DIR/found"` + "\n"
	for _, role := range []string{"developer", "reviewer", "tester", "deployer"} {
		w.write("HKS-1-"+role, keep)
	}
	w.write("HKS-1-developer", keep+`mkdir -p bin; printf '#!/bin/sh\necho "$SIGNALBOX_ROLE$SIGNALBOX_PHASE" >>"%s/changed"\n' "$WORLD_DIR" >bin/hook`+"\n")

	item := w.card("HKS", "Hooks and prompts")
	w.move(item, "To Analyse")
	w.approve(item)
	w.until("a person is to see the changed program", func() bool { return strings.Contains(w.task(item).HoldReason, "bin/hook") })
	w.approve(item)
	w.until("it is done", func() bool { return w.column(item) == "Done" && !owed(w.task(item)) })
	require.Equal(t, strings.Repeat("deployerdeploy\n", 2), w.read("changed"), "the branch's program is run when it is main's")
	require.Contains(t, w.read("prompt-developer"), "\nMain says: HKS-1 on feature/HKS-1-hooks-and-prompts.\n")
	require.Contains(t, w.read("prompt-reviewer"), "\nRegistry says: Review the changes against main.\n")
	require.Contains(t, w.read("prompt-tester"), "\nTest the branch against docs/work/HKS-1/acceptance.md.\n")
	require.Contains(t, w.read("prompt-deployer"), "\nmake staging\n")
	require.Equal(t, "installed\n", strings.SplitAfter(w.read("found"), "\n")[0])
	var developer []string
	for line := range strings.Lines(w.read("hooks")) {
		if what, mine := strings.CutPrefix(line, "developer "); mine {
			developer = append(developer, strings.TrimSpace(what))
		}
	}
	require.Equal(t, []string{"install", "up", "up", "down"}, developer, "what was installed is kept")

	hashes := map[stage.Role]string{}
	for _, r := range w.task(item).Runs {
		if hashes[r.Role] = r.Prompt; r.Role == stage.Developer && r.Attempt == 1 {
			require.Equal(t, []any{"failed", 3}, []any{r.Status, r.ExitCode})
		}
	}
	require.Equal(t, prompt.Hash(repository), hashes[stage.Developer])
	require.Equal(t, prompt.Hash(registry), hashes[stage.Reviewer])
	require.Empty(t, hashes[stage.Tester])
	page := w.page("/dashboard/tasks/1")
	require.Contains(t, page, ".signalbox/tester.md on main cannot be used: line 2: there is no field .Title")
	first := w.page("/dashboard/tasks/1/runs/3/1")
	require.Contains(t, first, "$ ./bin/hook up # before_run\nthis is up\nport 5432 is taken\n")
	require.Contains(t, w.page("/dashboard/tasks/1/runs/3/2"), "$ ./bin/hook down # after_run\nthis is down\n")
}
