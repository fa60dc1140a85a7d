package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/queue"
)

// A card that waits for nobody, or that does not say how to move it, breaks the summary.
func TestHelpless(t *testing.T) {
	at := func(s stage.Stage, jobs ...web.JobView) web.TaskDetail {
		return web.TaskDetail{TaskView: web.TaskView{WorkItemID: "APP-1", Stage: s}, Jobs: jobs}
	}
	agent := func(s queue.Status) web.JobView { return web.JobView{Pool: queue.PoolAgents, Status: s} }
	says := func(do ...string) (x explain.Explanation) {
		x.Summary = "It waits."
		for _, d := range do {
			x.Blockers = append(x.Blockers, explain.Blocker{Why: "something", Do: d})
		}
		return x
	}
	const wrong = "APP-1 waits at review, and nobody is told what to do: It waits."
	for name, c := range map[string]struct {
		task web.TaskDetail
		why  explain.Explanation
		want string
	}{
		"done":                {at(stage.Done), says(), ""},
		"cancelled":           {at(stage.Cancelled), says(), ""},
		"at work":             {at(stage.Review, agent(queue.Running)), says(), ""},
		"told":                {at(stage.Review, agent(queue.Queued)), says("", "Wait"), ""},
		"nothing to do":       {at(stage.Review), says(""), wrong},
		"no blocker":          {at(stage.Review), says(), wrong},
		"an agent that waits": {at(stage.Review, agent(queue.Queued)), says(), wrong},
		"another job":         {at(stage.Review, web.JobView{Pool: queue.PoolEvents, Status: queue.Running}), says(), wrong},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, helpless(c.task, c.why)) })
	}
}
