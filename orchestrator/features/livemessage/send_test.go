package livemessage_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/messenger/memmessenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/livemessage"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// slow is a chat in which something happens while a message is sent.
type slow struct {
	*memmessenger.Chat

	meanwhile func()
}

func (s *slow) Send(ctx context.Context, m messenger.Message) (string, error) {
	id, err := s.Chat.Send(ctx, m)
	if do := s.meanwhile; do != nil {
		s.meanwhile = nil
		do()
	}
	return id, err
}

// dies is a store that takes nothing any more, as when the process has died.
type dies struct {
	*memstore.Store

	dead bool
}

func (d *dies) Commit(ctx context.Context, c task.Commit) error {
	if d.dead {
		return errors.New("the process is dead")
	}
	return d.Store.Commit(ctx, c)
}

type kit struct {
	*testing.T

	store *dies
	chat  *slow
	run   orchestrator.Runner
}

func setup(t *testing.T) *kit {
	t.Helper()
	k := &kit{T: t, store: &dies{Store: memstore.New(nil)}, chat: &slow{Chat: memmessenger.New()}}
	projects, err := task.NewProjects(task.Project{TrackerProject: "p", Repo: "acme/app", CloneURL: "u", Prefix: "APP"})
	require.NoError(t, err)
	row := task.Task{ID: 1, Repo: "acme/app", TrackerIssueID: "i", WorkItemID: "APP-1", Title: "T", State: stage.State{Stage: stage.Analysis, Active: stage.Analyst}}
	require.NoError(t, k.store.Commit(t.Context(), task.Commit{Task: &row}))
	f, err := livemessage.Feature(livemessage.Options{Parts: orchestrator.Parts{Store: k.store, Projects: projects}, Messenger: k.chat})
	require.NoError(t, err)
	k.run = f.Runners[orchestrator.EffectLive]
	return k
}

func (k *kit) update() queue.Outcome {
	return k.run.Run(k.Context(), orchestrator.Effect{Effect: stage.Effect{Kind: orchestrator.EffectLive}, TaskID: 1, Repo: "acme/app", Attempt: 1})
}

// shown are the first and the last lines of the messages.
func (k *kit) shown() (out [][2]string) {
	for _, m := range k.chat.Messages() {
		out = append(out, [2]string{m.Shown.Lines[0], m.Shown.Lines[len(m.Shown.Lines)-1]})
	}
	return out
}

// A death between the send and its record leaves one message that nobody can edit;
// no death after that leaves a third one.
func TestDeathsWhileSending(t *testing.T) {
	k := setup(t)
	for range 3 {
		k.chat.meanwhile = func() { k.store.dead = true }
		k.update()
		k.store.dead = false
	}
	require.Len(t, k.chat.Messages(), 2)
	require.Equal(t, queue.OutcomeDone, k.update().Kind)
	require.Len(t, k.chat.Messages(), 2)
}

// A message whose record fails while its process lives says that it is continued, and
// the next one is kept up to date.
func TestOrphanSaysSo(t *testing.T) {
	k := setup(t)
	k.chat.meanwhile = func() { k.store.dead = true }
	require.NotEqual(t, queue.OutcomeDone, k.update().Kind)
	k.store.dead = false
	require.Equal(t, queue.OutcomeDone, k.update().Kind)
	require.Equal(t, [][2]string{
		{"This is continued in another message.", "This is continued in another message."},
		{"analysis: the analyst is at work", "(This may be a second copy.)"},
	}, k.shown())
	require.Equal(t, queue.OutcomeDone, k.update().Kind)
	require.Len(t, k.chat.Messages(), 2)
}

// A process that was paused in the middle of a send finds that another has gone on: the
// other's message stays the task's, and its own says so.
func TestPausedWhileSending(t *testing.T) {
	k := setup(t)
	k.chat.meanwhile = func() { require.Equal(t, queue.OutcomeDone, k.update().Kind) }
	require.Equal(t, queue.OutcomeDone, k.update().Kind)
	require.Equal(t, "This is continued in another message.", k.shown()[0][0])
	require.Equal(t, "analysis: the analyst is at work", k.shown()[1][0])
	task, err := k.store.Task(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, k.chat.Messages()[1].ID, task.TrackerMessageID)
}

// A chat that refuses leaves nothing behind: the next update sends the first message.
func TestRefusedSend(t *testing.T) {
	k := setup(t)
	k.chat.FailWith(errors.New("no"))
	for range 4 {
		k.update()
	}
	k.chat.FailWith(nil)
	require.Equal(t, queue.OutcomeDone, k.update().Kind)
	require.Equal(t, [][2]string{{"analysis: the analyst is at work", "the service works"}}, k.shown())
}
