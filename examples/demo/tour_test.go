package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/internal/telegramtest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// named finds a step.
func named(t *testing.T, f facts, id string) step {
	t.Helper()
	for _, s := range tour(f) {
		if s.ID == id {
			return s
		}
	}
	require.Fail(t, "there is no step "+id)
	return step{}
}

// Before anything has happened every step is ahead and proves nothing.
func TestTourBegins(t *testing.T) {
	t.Parallel()
	var f facts
	for _, c := range cards() {
		f.Cards = append(f.Cards, seen{ID: c.title, Title: c.title, Column: "Backlog"})
	}
	for _, s := range tour(f) {
		require.Equal(t, ahead, s.Standing, s.ID)
		require.Empty(t, s.Proof, s.ID)
	}
	f.Manual = true
	require.Len(t, tour(f), len(tour(facts{}))-7, "nobody changes main, edits a card or takes one away, and people decide on the board")
}

// Steps move on with what was seen of their card, and only with that.
func TestTourMovesOn(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	run := func(attempt int, status string) web.RunView {
		return web.RunView{Role: "tester", Run: 5, Attempt: attempt, Status: status, Started: at, Finished: at.Add(time.Second)}
	}
	analyst := func(run int64) web.RunView { return web.RunView{Role: "analyst", Run: run, Status: "ok"} }
	verdict := func(o gates.Outcome, reason string) task.GateResult {
		return task.GateResult{Stage: "development", Verdict: gates.Verdict{Outcome: o, Reason: reason}}
	}
	ran := func(list ...web.RunView) func(*web.TaskDetail) {
		return func(d *web.TaskDetail) { d.Runs = list }
	}
	judged := func(list ...task.GateResult) func(*web.TaskDetail) {
		return func(d *web.TaskDetail) { d.Verdicts = list }
	}
	heard := func(via stage.Via, on stage.Trigger) func(*web.TaskDetail) {
		payload, err := json.Marshal(task.Recorded{Event: stage.Event{On: on, By: stage.Principal{Name: "Kim", Via: via}}})
		require.NoError(t, err)
		return func(d *web.TaskDetail) {
			d.Journal = append(d.Journal, web.EntryView{Kind: task.KindDecision, Payload: payload})
		}
	}
	task := func(change func(*web.TaskDetail)) web.TaskDetail {
		d := web.TaskDetail{TaskView: web.TaskView{ID: 3, Repo: "acme/x"}}
		change(&d)
		return d
	}
	for _, c := range []struct {
		id    string
		of    seen
		want  standing
		proof string
	}{
		{"approved", seen{Key: "A-1", Column: "In Review", Why: "it waits", Task: task(func(*web.TaskDetail) {})}, going, "it waits"},
		{"approved", seen{Changes: []planetest.Change{{From: "In Review", To: "Approved", Actor: bot}}}, ahead, ""},
		{"approved", seen{Changes: []planetest.Change{{From: "In Review", To: "Approved", Actor: "kim"}}}, past, "a person moved it from In Review to Approved"},
		{"stop", seen{Branch: true, Changes: []planetest.Change{{To: "STOP", Actor: "kim"}}, Task: task(func(d *web.TaskDetail) { d.Stage = "cancelled" })}, going, "STOP was asked for"},
		{"stop", seen{Task: task(func(d *web.TaskDetail) { d.Stage = "cancelled" })}, past, "the task is cancelled, and the git host has no branch of it any more"},
		{"killed", seen{Title: "Import", Task: task(ran(run(1, "ok")))}, ahead, ""},
		{"killed", seen{Title: "Import", Task: task(ran(run(1, "failed")))}, going, "the tester's attempt 1 ended as failed"},
		{"killed", seen{Title: "Import", Task: task(ran(run(1, "failed"), run(2, "ok")))}, past, "the tester's attempt 1 ended as failed; attempt 2 finished"},
		{"killed", seen{Title: "Import", Task: task(ran(run(2, "ok")))}, past, "the tester's first attempt was lost with its server; attempt 2 finished"},
		{"red", seen{Title: "Offline", Task: task(judged(verdict(gates.Green, "good")))}, ahead, ""},
		{"red", seen{Title: "Offline", Task: task(judged(verdict(gates.Red, "bad")))}, going, "bad"},
		{"red", seen{Title: "Offline", Task: task(judged(verdict(gates.Red, "bad"), verdict(gates.Green, "good")))}, past, "bad; then: good"},
		{"page", seen{Title: "Offline", Column: "In Review", Why: "it waits", Task: task(func(*web.TaskDetail) {})}, going, "it waits"},
		{"page", seen{Title: "Offline", Task: task(heard(stage.ViaChat, stage.OnApproved))}, ahead, ""},
		{"page", seen{Title: "Offline", Task: task(heard(stage.ViaDashboard, stage.OnApproved))}, past, "approved by Kim (dashboard)"},
		{"page", seen{Title: "Offline", Task: task(heard(stage.ViaDashboard, stage.OnRejected))}, ahead, ""},
		{"chat", seen{Title: "Import", Task: task(heard(stage.ViaWebhook, stage.OnApproved))}, ahead, ""},
		{"chat", seen{Title: "Import", Task: task(heard(stage.ViaChat, stage.OnApproved))}, past, "approved by Kim (chat)"},
		{"answered", seen{Title: "tiles", Comments: []string{"1. " + question}, Task: task(ran(analyst(1)))}, going, "it asks: " + question},
		{"answered", seen{Title: "tiles", Comments: []string{question}, Task: task(ran(analyst(1), analyst(2)))}, past, "it asks: " + question + " It was answered, and the analyst has finished"},
		{"undone", seen{Title: "Offline", Task: task(func(d *web.TaskDetail) { d.Stage = stage.Done })}, ahead, ""},
		{"undone", seen{Title: "Offline", Why: "it waits", Undo: task(func(d *web.TaskDetail) { d.Stage = stage.Development })}, going, "it waits"},
		{"undone", seen{Title: "Offline", Undo: task(func(d *web.TaskDetail) { d.Stage, d.Follows, d.MergeSHA = stage.Done, "A-1", "c1" })}, past, "what A-1 has landed is taken back by c1"},
		{"waited", seen{Title: "Offline", Live: telegramtest.Message{Before: []string{"<b>A-1: Offline</b>\nwaits for B-1 (task deps)"}, Text: "x"}}, going, "it said: waits for B-1 (task deps)"},
		{"frozen", seen{Title: "Rotate the signing keys", Why: "it waits (freeze)", Task: task(func(*web.TaskDetail) {})}, past, "it waits (freeze)"},
		{"conflict", seen{Title: "Русский перевод", Comments: []string{"development: the branch conflicts with main in x."}}, going, "the branch conflicts with main in x."},
	} {
		s := named(t, facts{Cards: []seen{c.of}}, c.id)
		require.Equal(t, c.want, s.Standing, "%s: %+v", c.id, s)
		require.Equal(t, c.proof, s.Proof, c.id)
	}
}

// Live messages show what each edit brought and took away; notices stand apart.
func TestMessages(t *testing.T) {
	t.Parallel()
	live, notices := messages([]telegramtest.Message{
		{ID: 1, Silent: true, Text: "<b>A-1: x</b>\ndone\ntotal: 2", Before: []string{"<b>A-1: x</b>\nwaits", "<b>A-1: x</b>\ndone"}},
		{ID: 2, Text: "<b>A-1: x</b>\nfirst"}, {ID: 3, Text: "<b>A-1: x</b>\n&lt;second&gt;"},
	})
	require.Equal(t, []message{{ID: 1, Title: "A-1: x", Lines: []string{"done", "total: 2"}, Silent: true, Edits: []edit{{2, []string{"total: 2"}, nil}, {1, []string{"done"}, []string{"waits"}}}}}, live)
	require.Equal(t, []message{{ID: 3, Title: "A-1: x", Lines: []string{"<second>"}}, {ID: 2, Title: "A-1: x", Lines: []string{"first"}}}, notices)
}
