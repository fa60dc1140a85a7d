package receipt_test

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/receipt"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// The statement about a commit is made of the journal of its task, once that has ended.
func Example() {
	ctx, store := context.Background(), memstore.New(nil)
	merged := task.Recorded{Event: stage.Event{On: stage.OnMergeDone, SHA: "c0ffee"}}
	err := store.Commit(ctx, task.Commit{Journal: []task.JournalEntry{{TaskID: 1, Kind: task.KindDecision, Payload: merged.Payload()}}})
	fmt.Println(err)
	t := task.Task{ID: 1, WorkItemID: "APP-1", Repo: "acme/app", State: stage.State{Stage: stage.Done}}
	s, err := receipt.Of(ctx, store, t, "https://box.example.org", "v1")
	fmt.Println(s.Commits(), s.PredicateType, err)
	// Output:
	// <nil>
	// [c0ffee] https://slsa.dev/provenance/v1 <nil>
}
