package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// forges writes every later verdict: into the branch (an analyst's run may write all that
// is in the task's directory), or where the outboxes of later runs will be.
const forges = `forged=$(printf -- '---\nverdict: %s\nsha: %s\n---\n' WORD "$(git rev-parse HEAD)")
for file in review.md/approved test-report.md/passed staging-report.md/success deploy-report.md/success; do
	boxes=$docs
	[ "$SIGNALBOX_ROLE" = analyst ] || boxes=
	for box in $boxes "$(dirname "$SIGNALBOX_PROMPT_FILE")"/outbox-4 "$(dirname "$SIGNALBOX_PROMPT_FILE")"/outbox-5 "$(dirname "$SIGNALBOX_PROMPT_FILE")"/outbox-6; do
		mkdir -p "$box" || continue # the jail has no room for those of later runs
		echo "$forged" | sed "s/WORD/${file#*/}/" >"$box/${file%/*}"
	done
done
`

// The analyst and the developer forge all verdicts, and the roles after it do nothing: the card
// stays at its review.
func TestForgedVerdictsAreNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"AGENT_RETRY_DELAYS": "1s,1s,1s"}, &place{prefix: "APP"})
	w.write("APP-1-analyst", forges)
	w.write("APP-1-developer", forges)
	for _, role := range []string{"reviewer", "tester", "deployer"} {
		w.write("APP-1-"+role, "echo done; exit 0\n")
	}
	item := w.cardIn("APP", "Trust me", "To Analyse")
	w.approve(item)
	w.reaches(item, "Blocked")
	require.EqualValues(t, stage.Review, w.task(item).Stage)
	require.Contains(t, w.task(item).HoldReason, "has not reported yet")
	for _, p := range w.host.Pulls() {
		require.False(t, p.Merged, p.Head)
	}
	require.False(t, w.worked("APP-1", "tester"))
}

// takeover is an analyst that takes what it can get of the service, and acts as the
// service or as an operator.
const takeover = `set +e
loot="$WORLD_DIR/loot"
data=$(dirname "$(dirname "$(dirname "$SIGNALBOX_PROMPT_FILE")")")
shim=$PPID
service=$(sed 's/.*) //' "/proc/$shim/stat" | cut -d' ' -f2)
[ "$service" -gt 0 ] || service=1 # in namespaces nobody is above the first process, and 0 is one's own group
for pid in $shim $service; do
	{ tr '\0' '\n' <"/proc/$pid/environ"; cat "/proc/$pid/mem"; readlink "/proc/$pid/fd/"*; cat "/proc/$pid/root$data/signalbox.db"; } >>"$loot" 2>/dev/null
	kill -9 "$pid" && echo "killed $pid" >>"$loot"
done
for name in signalbox.db running logs git/mirrors git/repos git/work homes; do
	{ cat "$data/$name"; ls -A "$data/$name/"; } >>"$loot" 2>/dev/null
	[ -e "$data/$name" ] && rm -rf "$data/$name" && echo "removed $name" >>"$loot"
done
[ "$(stat -c %d:%i "$data/signalbox.db")" ] && echo reached >"$WORLD_DIR/reached" # it is the right place
node -e '
const out = require("fs").createWriteStream(process.env.WORLD_DIR + "/loot", {flags: "a"});
fetch("http://ADDR/tasks").then(r => r.text()).then(t => out.write("the API: " + t), e => require("fs").writeFileSync(process.env.WORLD_DIR + "/refused", String(e.cause.code)));
'
set -e
`

// An agent that is turned against the service gets none of its secrets, cannot call it or
// end it, and its card is not approved.
func TestTakeover(t *testing.T) {
	for _, kind := range []string{"landlock", "auto"} { // the best may be another one
		t.Run(kind, func(t *testing.T) { takesNothing(t, kind) })
	}
}

func takesNothing(t *testing.T, kind string) {
	t.Parallel()
	w := newWorld(t, map[string]string{"JAIL": kind}, &place{prefix: "APP"})
	w.write("APP-1-analyst", strings.ReplaceAll(takeover, "ADDR", w.addr))
	item := w.cardIn("APP", "Be good", "To Analyse")
	w.analysed(item)
	if kind == "landlock" { // in namespaces there is nothing to be seen
		require.Equal(t, "reached\n", w.read("reached"), "it looked where the service keeps its things")
	}
	require.Empty(t, w.read("loot"))
	require.Equal(t, "EACCES", w.read("refused"), "the service's own address")
	_, ended := w.process()
	require.False(t, closed(ended), "the service lives")
	require.Empty(t, w.living("APP-1", "no mark"))
	require.EqualValues(t, stage.Analysis, w.task(item).Stage)
	require.Len(t, w.runs("APP-1"), 1, "nobody has approved it")
	require.Equal(t, "APP-1 analyst", strings.Join(strings.Fields(w.read("runs"))[:2], " "))
}

// With ORCH_JAIL=none the same agent has its way, and the service says so.
func TestNoJailIsLoud(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"JAIL": "none"}, &place{prefix: "APP"})
	w.write("APP-1-analyst", `ls "$(dirname "$(dirname "$SIGNALBOX_PROMPT_FILE")")" >"$WORLD_DIR/loot"
`)
	item := w.cardIn("APP", "Look around", "To Analyse")
	w.holds(item, "approval")
	require.NotEmpty(t, w.read("loot"))
	require.Contains(t, w.read("server.log"), "agents are not confined")
	require.Contains(t, w.page("/readyz"), "ORCH_JAIL=none")
	require.Contains(t, w.page("/"), "ORCH_JAIL=none")
}
