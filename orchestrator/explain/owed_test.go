package explain

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// What is said of an effect that is not made.
func TestOwed(t *testing.T) {
	now := time.Date(2031, 5, 4, 12, 9, 0, 0, time.UTC)
	soon := now.Add(7 * time.Second)
	row := task.Task{ID: 1, Repo: "acme/app", TrackerIssueID: "i", StageEnteredAt: now.Add(-time.Hour), State: stage.State{Hold: stage.HoldApproval, HoldReason: "the requirements are ready"}}
	job := func(f stage.Effect, change func(*queue.Job)) queue.Job {
		j := orchestrator.EffectJob(row, task.Project{Repo: "acme/app"}, f, "k")
		j.ID, j.Status, j.CreatedAt = 57, queue.Queued, now.Add(-time.Minute)
		if change != nil {
			change(&j)
		}
		return j
	}
	comment, status, publish := stage.Effect{Kind: stage.EffectComment}, stage.Effect{Kind: stage.EffectStatus, Status: stage.StatusBlocked}, stage.Effect{Kind: stage.EffectPublish}
	again := func(j *queue.Job) { j.Attempt, j.Error, j.AvailableAt = 2, "500", soon }
	dead := func(j *queue.Job) { j.Status, j.Attempt, j.Error = queue.Failed, 3, "403" }
	silent := map[string]orchestrator.Sickness{}
	for _, l := range orchestrator.NamedLanes() {
		silent[l.Pool] = orchestrator.Sickness{Lane: l.Name, Since: now.Add(-5 * time.Minute), Failures: 5, Next: soon.Add(time.Second), Error: "timeout", Neighbour: l.Neighbour}
	}
	sinceYesterday := map[string]orchestrator.Sickness{orchestrator.LaneComments.Pool(): {Lane: "comments", Since: now.Add(-24 * time.Hour), Failures: 9, Neighbour: "the tracker"}}
	for name, c := range map[string]struct {
		job     queue.Job
		sick    map[string]orchestrator.Sickness
		change  func(*task.Task)
		want    string // empty: nothing is owed
		next    time.Time
		untold  bool
		givenUp bool
	}{
		"new":                      {job: job(comment, nil), want: "the comment is about to be made", untold: true},
		"failed once":              {job: job(comment, again), want: "the comment is tried again at 12:09:07 UTC; try 2 ended with: 500", next: soon, untold: true},
		"due":                      {job: job(comment, func(j *queue.Job) { again(j); j.AvailableAt = now }), want: "the comment is tried again now; try 2 ended with: 500", next: now, untold: true},
		"at work":                  {job: job(comment, func(j *queue.Job) { again(j); j.Status = queue.Running }), want: "the comment is being made, try 2", next: soon, untold: true},
		"not tried, the lane sick": {job: job(comment, nil), sick: silent, want: "the comment waits for the tracker, which has not answered since 12:04 UTC, try 5; next try at 12:09:08 UTC", next: soon.Add(time.Second), untold: true},
		"put off, the lane sick":   {job: job(status, func(j *queue.Job) { again(j); j.AvailableAt = now.Add(time.Minute) }), sick: silent, want: "the board status Blocked waits for the tracker, which has not answered since 12:04 UTC, try 5; next try at 12:10:00 UTC", next: now.Add(time.Minute), untold: true},
		"sick since yesterday":     {job: job(comment, nil), sick: sinceYesterday, want: "the comment waits for the tracker, which has not answered since 3 May 12:09 UTC, try 9; next try now", untold: true},
		"another lane is sick":     {job: job(stage.Effect{Kind: orchestrator.EffectLive}, nil), sick: sinceYesterday, want: "the live message is about to be made"},
		"of a feature":             {job: job(stage.Effect{Kind: "deploy"}, again), sick: silent, want: "", next: soon},
		"given up": {
			job: job(comment, dead), givenUp: true, untold: true,
			want: "the comment was refused for good: 403; when the cause is gone, make it again: the queue page, or POST /effects/57/again",
		},
		"given up at an earlier stage": {
			job: job(comment, func(j *queue.Job) { dead(j); j.CreatedAt = now.Add(-2 * time.Hour) }), givenUp: true,
			want: "the comment was refused for good: 403; when the cause is gone, make it again: the queue page, or POST /effects/57/again",
		},
		"what the stage needs": {
			job: job(publish, dead), givenUp: true, change: func(t *task.Task) { t.State.Hold = stage.HoldBlocked },
			want: "the push of the branch was refused for good: 403; when the cause is gone, start the stage again: In Progress on the board, or an operator's retry",
		},
		"what the stage needed before": {job: job(publish, dead)},
	} {
		t.Run(name, func(t *testing.T) {
			row := row
			if c.change != nil {
				c.change(&row)
			}
			s := situation{now: now, sick: c.sick}
			if c.job.Status == queue.Failed {
				s.failed = []queue.Job{c.job}
			} else {
				s.waits = []queue.Wait{{Job: c.job}}
			}
			if name == "of a feature" { // the lane of the rest has no destination that is named
				c.sick, s.sick, c.want = nil, nil, `the effect "deploy" is tried again at 12:09:07 UTC; try 2 ended with: 500`
			}
			list := s.owed(row)
			x := Explanation{Owed: list}
			account{situation: s, Explanation: &x, Task: row, engine: new(orchestrator.Engine)}.blockOfPerson()
			if c.want == "" {
				require.Empty(t, list)
				return
			}
			require.Len(t, list, 1)
			require.Equal(t, c.want, list[0].Text)
			require.Equal(t, []any{int64(57), c.givenUp, c.next}, []any{list[0].JobID, list[0].GivenUp, list[0].Next})
			if !c.untold {
				require.Equal(t, "Waits for a human: the requirements are ready", x.Summary)
				require.Equal(t, "the requirements are ready", x.Blockers[0].Why)
				return
			}
			brief, _, _ := strings.Cut(c.want, "; next try")
			brief, _, _ = strings.Cut(brief, "; when the cause")
			require.Equal(t, "A human is not told everything yet: "+brief+". What is wanted: the requirements are ready", x.Summary)
			require.Equal(t, "the requirements are ready (not told everything yet: "+brief+")", x.Blockers[0].Why)
		})
	}
}

// Two comments that wait alike are one reason.
func TestHumanNamesAReasonOnce(t *testing.T) {
	list := []Owed{
		{Kind: stage.EffectComment, brief: "the comment waits"}, {Kind: stage.EffectComment, brief: "the comment waits"},
		{Kind: stage.EffectNotify, brief: "the notice waits"}, {Kind: orchestrator.EffectLive, brief: "the live message waits"},
	}
	x := Explanation{Owed: list}
	account{Explanation: &x, Task: task.Task{State: stage.State{HoldReason: "a verdict"}}, engine: new(orchestrator.Engine)}.blockOfPerson()
	require.Equal(t, "A human is not told everything yet: the comment waits; the notice waits. What is wanted: a verdict", x.Summary)
}

func TestLaneViews(t *testing.T) {
	sick := map[string]orchestrator.Sickness{orchestrator.LaneChat.Pool(): {Lane: "chat", Failures: 4}}
	list := laneViews(orchestrator.NamedLanes(), []queue.Depth{
		{Pool: orchestrator.LaneChat.Pool(), Status: queue.Queued, Count: 3}, {Pool: orchestrator.LaneChat.Pool(), Status: queue.Running, Count: 1},
		{Pool: queue.PoolAgents, Status: queue.Running, Count: 9}, {Pool: queue.PoolEvents + "/host", Status: queue.Queued, Count: 2},
	}, sick)
	names := map[string]LaneView{}
	for _, l := range list {
		names[l.Lane] = l
	}
	require.Len(t, list, len(orchestrator.NamedLanes()))
	require.Equal(t, []int64{4, 1}, []int64{names["chat"].Owed, names["chat"].Running})
	require.Equal(t, 4, names["chat"].Sick.Failures)
	require.Equal(t, LaneView{Lane: "host events", Owed: 2}, names["host events"])
	require.Equal(t, LaneView{Lane: "other"}, names["other"])
}

// What is said of a task after its end came after it, in words.
func TestLastNote(t *testing.T) {
	entry := func(kind string, payload any) task.JournalEntry {
		body, err := json.Marshal(payload)
		require.NoError(t, err)
		return task.JournalEntry{Kind: kind, Payload: body}
	}
	decided := func(at stage.Stage, note string) task.JournalEntry {
		return entry(task.KindDecision, task.Recorded{Decision: stage.Decision{State: stage.State{Stage: at}, Notes: []string{note}}})
	}
	edited, seen := entry(task.KindText, task.Note{Result: "The card was edited."}), entry("monitor", map[string]string{"result": "DEGRADED", "last": "500"})
	work, done, late := decided(stage.Development, "CI is green"), decided(stage.Done, "it is deployed"), decided(stage.Done, "it came too late")
	for name, c := range map[string]struct {
		story       []task.JournalEntry
		note, after string
	}{
		"at work":               {[]task.JournalEntry{work}, "CI is green", ""},
		"edited":                {[]task.JournalEntry{work, edited}, "The card was edited.", ""},
		"edited before":         {[]task.JournalEntry{work, edited, done}, "it is deployed", ""},
		"edited before, late":   {[]task.JournalEntry{work, edited, done, late}, "it came too late", ""},
		"watched":               {[]task.JournalEntry{work, done, seen}, "the monitor saw DEGRADED: 500", "the monitor saw DEGRADED: 500"},
		"watched, edited, late": {[]task.JournalEntry{work, edited, done, seen, late}, "it came too late", "the monitor saw DEGRADED: 500"},
		"nothing":               {nil, "", ""},
	} {
		note, after := lastNote(c.story)
		require.Equal(t, []string{c.note, c.after}, []string{note, after}, name)
	}
}
