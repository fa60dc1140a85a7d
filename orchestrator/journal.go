package orchestrator

import (
	"context"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// journal writes into a task's story what no decision says. The story is for people: what cannot
// be written there holds nothing up.
func (e *Engine) journal(ctx context.Context, t task.Task, kind string, payload any) {
	entry := task.JournalEntry{TaskID: t.ID, Seq: t.State.Seq, At: e.Now(), Kind: kind, Payload: encode(payload)}
	if err := e.Store.Commit(context.WithoutCancel(ctx), task.Commit{Journal: []task.JournalEntry{entry}}); err != nil {
		e.Log.Warn("the task's story could not be written",
			"task", t.ID, "repo", t.Repo, "kind", kind, "entry", string(entry.Payload), "err", err)
	}
}

// journalOnce writes a sentence into a task's story, unless it is there.
func (e *Engine) journalOnce(ctx context.Context, t task.Task, kind, text string) {
	text = cut(text, tailMax, "…")
	story, err := e.Records.Journal(ctx, t.ID)
	if err != nil {
		e.Log.Warn("the task's story could not be read", "task", t.ID, "repo", t.Repo, "err", err)
	}
	for _, entry := range story {
		if entry.Kind == kind && entry.Result() == kind+": "+text {
			return
		}
	}
	e.Log.Warn("a note for the story of a task", "task", t.ID, "repo", t.Repo, "kind", kind, "text", text)
	e.journal(ctx, t, kind, task.Note{Result: text})
}
