package main

import (
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

const (
	you     = admit.WhoYou
	service = admit.WhoService
	another = admit.WhoTask
	outside = admit.WhoOutside
)

// Scripts of agents.
const (
	leaves   = "keep; echo done; exit 0\n" // without what it is to do
	rests    = "fixed || { " + leaves + "}\n"
	awaits   = "await \"$WORLD_DIR/${SIGNALBOX_WORK_ITEM%-*}-fixed\"\n"
	redCI    = "if fixed; then rm -f ci; else echo failure >ci; fi\n"
	silentCI = "echo none >ci\n"
	rejects  = "fixed || { verdict failed; " + leaves + "}\n"
	asks     = `if fixed; then rm -f "$docs/questions.md"; else echo "Which colour?" >"$docs/questions.md"; ` + leaves + "fi\n"
)

// situations are all of them. A new hold or kind of blocker gets a row here. What takes
// minutes before it is noticed is in package orchestrator, under a virtual clock: a branch
// that was deleted, and CI that never comes.
func situations() []situation {
	list := append(persons(), machines()...)
	list = append(list, others()...)
	return append(list, apart()...)
}

func script(role, text string) map[string]string { return map[string]string{role: text} }

// persons are the situations in which a person is waited for.
func persons() []situation {
	return []situation{
		{name: "requirements to approve", prefix: "APR", often: true, kind: "human", who: you, why: "a human's verdict on the requirements", do: "Set Approved"},
		{
			name: "approved without acceptance", prefix: "NAC", often: true, agents: script("analyst", `fixed || { echo r >"$docs/requirements.md"; `+leaves+"}\n"), make: func(o *obedient, _ situation) {
				o.move(o.item, "To Analyse")
				o.analysed(o.item)
				o.move(o.item, "Approved")
				o.reaches(o.item, "In Review")
			},
			kind: "human", who: you, why: "acceptance.md", do: "Set In Progress",
		},
		{name: "questions", prefix: "QST", often: true, agents: script("architect", asks), kind: "human", who: you, why: "", do: "Answer in a comment"},
		{name: "an agent that failed", prefix: "FAI", world: "outages", agents: script("architect", "fixed || exit 3\n"), kind: "human", who: you, why: "exit code 3", do: "Set In Progress"},
		{name: "no design", prefix: "ARC", agents: script("architect", rests), kind: "human", who: you, why: "design.md", do: "Set In Progress"},
		{name: "red CI", prefix: "RED", agents: script("developer", redCI), kind: "human", who: you, why: "CI failed", do: "Set In Progress"},
		{name: "a bad review", prefix: "REV", agents: script("reviewer", "fixed || { verdict changes_requested; "+leaves+"}\n"), kind: "human", who: you, do: "Set In Progress"},
		{name: "verification", prefix: "VER", often: true, place: place{more: `, verify: [["sh", "-c", "! test -e bad"]]`}, agents: script("developer", "if fixed; then rm -f bad; else touch bad; fi\n"), kind: "human", who: you, why: "test -e bad", do: "Set In Progress"},
		{name: "protected paths", prefix: "PRT", agents: script("developer", "mkdir -p .github/workflows; echo x >.github/workflows/x.yml\n"), kind: "human", who: you, why: ".github/workflows/x.yml", do: "Set Approved"},
		{name: "approvers", prefix: "SEP", often: true, place: place{more: ", approvers: [ann@example.org], separate: true"}, kind: "human", who: you, do: "it takes one of the approvers (ann@example.org), other than who has started the task"},
		{name: "somebody else", prefix: "ELS", place: place{more: ", separate: true"}, kind: "human", who: you, do: "it takes somebody else than who has started the task"},
		{name: "deployment to confirm", prefix: "CNF", place: place{self: true}, kind: "human", who: you, why: "Confirm Deploy", do: "Set Confirm Deploy"},
		{name: "no column to confirm", prefix: "COL", often: true, place: place{self: true}, make: func(o *obedient, s situation) {
			require.NoError(o, o.board.RemoveState(o.places[s.prefix].id, "Confirm Deploy"))
			o.restart() // columns are read again every ten minutes
			o.move(o.item, "To Analyse")
		}, kind: "human", who: you, do: "Add the column Confirm Deploy"},
		{name: "failed deployment", prefix: "DPL", agents: script("deployerdeploy", rejects), kind: "human", who: you, why: "the deployment failed", do: "Set In Progress"},
		{name: "branch name taken", prefix: "TKN", make: func(o *obedient, s situation) {
			o.git(o.places[s.prefix].bare, "branch", "feature/TKN-1-branch-name-taken", "main")
			o.move(o.item, "To Analyse")
		}, kind: "human", who: you, why: "a human's verdict on the requirements", do: "Set Approved"},
	}
}

// checked reports CI of the task's head, as a result that came at last.
func checked(name string) func(*obedient, situation) {
	return func(o *obedient, s situation) {
		head := ""
		o.until("the head is known", func() bool { head = o.world.task(o.item).HeadSHA; return head != "" })
		o.host.SetCheckRun(o.places[s.prefix].repo, head, name, "completed", "success")
	}
}

// machines are those in which an agent, CI or the service is.
func machines() []situation {
	return []situation{
		{name: "at work", prefix: "WRK", often: true, agents: script("analyst", awaits), why: "The analyst is at work since "},
		{name: "a failed attempt", prefix: "DLY", often: true, agents: script("architect", "fixed || exit 3\n"), kind: "delay", who: service, why: "exit code 3", do: "POST /tasks/"},
		{name: "CI to come", prefix: "CIP", place: place{remote: true}, agents: script("developer", silentCI), mend: checked("ci"), kind: "ci", who: outside, why: "CI of ", do: "Look at the checks"},
		{name: "a missing check", prefix: "CTX", often: true, place: place{more: ", ci: [build, e2e]"}, agents: script("developer", silentCI), make: func(o *obedient, s situation) {
			o.move(o.item, "To Analyse")
			o.to("CI is waited for", func(x explain.Explanation) bool { return len(x.Blockers) > 0 && x.Blockers[0].Kind == "ci" })
			checked("build")(o, s)
		}, mend: checked("e2e"), kind: "ci", who: outside, why: ": e2e", do: "Look at the checks"},
		{name: "test before the merge", prefix: "RET", often: true, agents: script("reviewer", awaits), make: func(o *obedient, s situation) {
			o.move(o.item, "To Analyse")
			o.to("the reviewer begins", func(explain.Explanation) bool { return o.worked("RET-1", "reviewer") })
			seed := o.path("seed-" + s.prefix)
			o.commit(seed, "ci", "none\n")
			o.git(seed, "push", "--quiet", "origin", "HEAD:main")
			o.write(s.prefix+"-fixed", "")
		}, mend: checked("ci"), kind: "ci", who: outside, why: "is tested again", do: "Look at the checks"},
		{name: "merging", prefix: "MRG", make: merging, mend: func(o *obedient, _ situation) { o.release() }, kind: "merge", who: service, why: "is being merged", do: "Wait"},
		{name: "stopped while it merges", prefix: "SMW", often: true, make: func(o *obedient, s situation) {
			merging(o, s)
			o.to("it merges", func(explain.Explanation) bool { return o.isMerging(s.prefix) })
			o.move(o.item, "STOP")
		}, mend: func(o *obedient, _ situation) { o.release() }, kind: "stop", who: service, why: "STOP waits", do: "Wait", end: stage.Cancelled},
		{name: "stopped while it deploys", prefix: "SDP", agents: script("deployerdeploy", awaits), make: func(o *obedient, _ situation) {
			o.move(o.item, "To Analyse")
			o.to("it deploys", func(explain.Explanation) bool { return o.worked("SDP-1", "deployer deploy ") })
			o.move(o.item, "STOP")
		}, kind: "stop", who: service, why: "STOP waits", do: "Wait", end: stage.Cancelled},
		{name: "cancelled", prefix: "CAN", make: func(o *obedient, _ situation) {
			o.move(o.item, "To Analyse")
			o.to("it waits", func(x explain.Explanation) bool { return len(x.Blockers) > 0 })
			o.move(o.item, "STOP")
			o.until("it is cancelled", func() bool { return o.world.task(o.item).Stage == stage.Cancelled })
		}, why: "The task is cancelled", end: stage.Cancelled},
		{name: "a reviewer that may not be independent", prefix: "IND", place: place{more: ", agents: {reviewer: {independent: true}}"}, make: func(o *obedient, s situation) {
			o.move(o.item, "To Analyse")
			o.to("it ends", func(x explain.Explanation) bool { return x.Stage == stage.Done })
			o.until("the card says it", func() bool { return strings.Contains(strings.Join(o.said(o.item), " "), "it may not be independent") })
		}, why: "The task is done"},
		{name: "degraded", prefix: "DEG", place: place{monitor: "/nowhere"}, make: func(o *obedient, _ situation) {
			o.move(o.item, "To Analyse")
			o.to("it ends", func(x explain.Explanation) bool { return x.Stage == stage.Done })
		}, why: "DEGRADED"},
	}
}

// merging begins a card whose merge is held up.
func merging(o *obedient, s situation) {
	o.release = o.holdMerges(s.prefix)
	o.move(o.item, "To Analyse")
}

// first begins a card before the one of the situation, which waits for it then.
func first(prefix string) func(*obedient, situation) {
	return func(o *obedient, _ situation) {
		other := o.cardIn(prefix, "First of "+prefix, "To Analyse")
		o.until("the first has a task", func() bool { return o.world.task(other).ID != 0 })
		o.board.Block(o.item, other)
		o.move(o.item, "To Analyse")
	}
}

// others are those in which other cards are waited for, or what is theirs.
func others() []situation {
	return []situation{
		{name: "serial gate", prefix: "SER", often: true, make: func(o *obedient, s situation) {
			o.item = o.card(s.prefix, "The second")
			other := o.titled(s.name)
			o.move(other, "To Analyse")
			o.until("the first has a task", func() bool { return o.world.task(other).ID != 0 })
			o.move(o.item, "To Analyse")
		}, kind: "serial_gate", who: another, why: "SER-1 (task ", do: "is done, or stop it"},
		{name: "work in progress", prefix: "WIP", often: true, place: place{more: ", wip: 1"}, agents: script("analyst", awaits), make: func(o *obedient, s situation) {
			o.move(o.item, "To Analyse")
			o.until("the first is at work", func() bool { return o.worked(s.prefix+"-1", "analyst") })
			o.item, o.task = o.card(s.prefix, "Over the limit"), 0
			o.move(o.item, "To Analyse")
		}, kind: "wip", who: another, why: "WIP-1", do: "raise wip of the repository in projects.yaml"},
		{name: "an operator's pause", prefix: "PAU", often: true, make: func(o *obedient, s situation) {
			o.signalbox("pause", "acme/pau")
			o.move(o.item, "To Analyse")
		}, kind: "pause", who: you, why: "paused by", do: "Run signalbox unpause acme/pau"},
		{name: "dependency", prefix: "DEP", also: "DEQ", often: true, make: first("DEQ"), kind: "task_deps", who: another, why: "DEQ-1 (task ", do: "remove the relation"},
		{name: "a card that never began", prefix: "NEV", also: "NEW", make: func(o *obedient, s situation) {
			o.board.Block(o.item, o.card(s.also, "Not begun"))
			o.move(o.item, "To Analyse")
		}, kind: "task_deps", who: you, why: `the card "Not begun"`, do: `Set To Analyse on the card "Not begun"`},
		{name: "a cycle", prefix: "CYC", also: "CYD", make: func(o *obedient, s situation) {
			first(s.also)(o, s)
			o.board.Block(o.titled("First of CYD"), o.item)
			o.board.Edit(o.titled("First of CYD"), "First of CYD", "<p>It is after the other.</p>")
		}, kind: "task_deps_cycle", who: you, why: "a dependency cycle", do: "Remove one of these relations"},
		{name: "freeze", prefix: "FRZ", often: true, place: place{monitor: "/nowhere"}, make: func(o *obedient, s situation) {
			o.move(o.item, "To Analyse")
			o.to("it is DEGRADED", func(x explain.Explanation) bool { return strings.Contains(x.Summary, "DEGRADED") })
			o.item, o.task = o.card(s.prefix, "After the freeze"), 0
			o.move(o.item, "To Analyse")
		}, kind: "freeze", who: you, do: "Run signalbox unfreeze acme/frz"},
	}
}

// atWork brings the card's developer to work, who waits for the cause to be mended.
func atWork(o *obedient, s situation) {
	o.move(o.item, "To Analyse")
	o.to("the developer begins", func(explain.Explanation) bool { return o.worked(s.prefix+"-1", "developer") })
}

// sickened makes a neighbour sick while the developer works, who finishes then.
func sickened(neighbour string, k fakehttp.Kind) func(*obedient, situation) {
	return func(o *obedient, s situation) {
		atWork(o, s)
		o.sick[neighbour].Sicken(k)
		o.Cleanup(o.sick[neighbour].Heal)
		o.write(s.prefix+"-fixed", "")
	}
}

func healed(neighbour string) func(*obedient, situation) {
	return func(o *obedient, _ situation) { o.sick[neighbour].Heal() }
}

// restarted begins the service anew with a setting.
func restarted(name, value string, then func(*obedient, situation)) func(*obedient, situation) {
	return func(o *obedient, s situation) {
		o.env[name] = value
		o.restart()
		then(o, s)
	}
}

// apart are those that disturb others: neighbours that are sick, and restarts.
func apart() []situation {
	return []situation{
		{name: "tracker down with a stored move", prefix: "TRK", world: "outages", often: true, make: func(o *obedient, _ situation) {
			o.move(o.item, "To Analyse")
			o.analysed(o.item)
			o.sick["plane"].Sicken(fakehttp.Error)
			x, _ := o.see()
			o.heed(x.Blockers[len(x.Blockers)-1])
		}, mend: healed("plane"), kind: "board", who: outside, why: "a change of the card, received ", do: "Set nothing again"},
		{name: "revoked access", prefix: "RVK", world: "outages", often: true, make: func(o *obedient, _ situation) {
			o.move(o.item, "To Analyse")
			o.analysed(o.item)
			o.sick["plane"].Sicken(fakehttp.Refuse)
			o.Cleanup(o.sick["plane"].Heal)
		}, mend: healed("plane"), kind: "access", who: you, why: "the tracker refuses the service at the board of ", do: "set it as ORCH_PLANE_TOKEN, or make its account a member of the project at "},
		{name: "git host down", prefix: "HST", world: "outages", place: place{remote: true}, agents: script("developer", awaits), make: sickened("github", fakehttp.Error), mend: healed("github"), kind: "ci", who: outside, why: "the git host (host events) has not answered", do: "Look at the checks"},
		{name: "git remote down", prefix: "GIT", world: "outages", place: place{remote: true}, agents: script("developer", awaits), make: sickened("git", fakehttp.Error), mend: healed("git"), kind: "push", who: outside, why: "the git remote", do: "Wait"},
		{name: "git host refuses", prefix: "REF", world: "outages", place: place{remote: true}, agents: script("developer", awaits), make: sickened("github", fakehttp.Refuse), mend: healed("github"), kind: "ci", who: outside, why: "refused for good", do: "Look at the checks"},
		{name: "no pull request", prefix: "PRQ", world: "outages", place: place{remote: true}, make: func(o *obedient, _ situation) {
			o.sick["github"].Sicken(fakehttp.Refuse)
			o.Cleanup(o.sick["github"].Heal)
			o.move(o.item, "To Analyse")
		}, mend: healed("github"), kind: "human", who: you, why: "refused for good", do: "Set In Progress"},
		{name: "git host down at the review", prefix: "HSR", world: "outages", often: true, agents: script("reviewer", "[ -e $WORLD_DIR/HSR-left ] || { "+awaits+"touch $WORLD_DIR/HSR-left; "+leaves+"}\n"), make: func(o *obedient, _ situation) {
			o.move(o.item, "To Analyse")
			o.to("the reviewer begins", func(explain.Explanation) bool { return o.worked("HSR-1", "reviewer") })
			o.sick["github"].Sicken(fakehttp.Error)
			o.write("HSR-fixed", "")
		}, mend: healed("github"), kind: "event", who: outside, why: "the reviewer has ended, and its result", do: "Wait"},
		{name: "slots", prefix: "SLO", also: "SLP", world: "restarts", make: restarted("MAX_CONCURRENCY", "1", func(o *obedient, s situation) {
			o.write(s.also+"-1-analyst", awaits)
			o.cardIn(s.also, "Takes the slot", "To Analyse")
			o.until("the slot is taken", func() bool { return o.worked(s.also+"-1", "analyst") })
			o.move(o.item, "To Analyse")
		}), kind: "slot", who: another, why: "slots are taken", do: "ORCH_MAX_CONCURRENCY"},
		{name: "budget", prefix: "BUD", world: "restarts", often: true, make: restarted("BUDGET_TASK_USD", "1.50", func(o *obedient, _ situation) { o.move(o.item, "To Analyse") }), kind: "budget", who: you, why: "BUD-1", do: "Raise ORCH_BUDGET_TASK_USD and restart"},
		{name: "budget of a day", prefix: "DAY", world: "restarts", make: restarted("BUDGET_REPO_DAY_USD", "1.50", func(o *obedient, _ situation) { o.move(o.item, "To Analyse") }), kind: "budget", who: you, why: "acme/day", do: "Raise ORCH_BUDGET_REPO_DAY_USD and restart"},
		{
			name: "an agent that is paused", prefix: "AGP", world: "restarts",
			agents: script("developer", "fixed || { echo '{\"type\":\"result\",\"error\":\"nobody is signed in\",\"trouble\":\"login\"}'; exit 1; }\n"),
			kind:   "agent_pause", who: you, why: "nobody is signed in", do: `run signalbox resume "sh /`,
		},
		{name: "a worker that died", prefix: "KIL", world: "restarts", agents: script("developer", awaits), make: func(o *obedient, s situation) {
			atWork(o, s)
			o.end(syscall.SIGKILL)
			o.start()
		}, kind: "worker", who: service, why: "nothing was heard of the worker", do: "Wait"},
		{name: "egress", prefix: "EGR", world: "restarts", often: true, agents: script("architect", "fixed || git ls-remote http://evil.example.net/x || exit 7\n"), make: restarted("EGRESS", "allow-list", func(o *obedient, _ situation) {
			o.move(o.item, "To Analyse")
		}), mend: func(o *obedient, _ situation) { require.Len(o, o.runs("EGR-1"), 2, "it is not tried again for money") }, kind: "human", who: you, why: "add evil.example.net to egress of acme/egr (architect)", do: "Set In Progress"},
		{name: "a repository that was taken out", prefix: "REG", world: "restarts", make: func(o *obedient, s situation) {
			o.move(o.item, "To Analyse")
			o.analysed(o.item)
			var left strings.Builder
			for line := range strings.Lines(o.registry) {
				if !strings.Contains(line, o.places[s.prefix].repo) {
					left.WriteString(line)
				}
			}
			require.NotEqual(o, o.registry, left.String())
			o.write("projects.yaml", left.String())
			o.restart()
		}, kind: "registry", who: you, why: "acme/reg is not registered", do: "projects.yaml"},
	}
}
