package dssekey_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/adapters/dssekey"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Whoever has the public key proves where a merged commit comes from.
func Example() {
	ctx, store := context.Background(), memstore.New(nil)
	merged := task.Recorded{Event: stage.Event{On: stage.OnMergeDone, SHA: "c0ffee"}}
	_ = store.Commit(ctx, task.Commit{Journal: []task.JournalEntry{{TaskID: 1, Kind: task.KindDecision, Payload: merged.Payload()}}})
	dir, _ := os.MkdirTemp("", "keys")
	defer os.RemoveAll(dir)
	key, err := dssekey.OpenKey(filepath.Join(dir, "receipt.key"))
	if err != nil {
		fmt.Println(err)
		return
	}
	issued, _ := key.Issue(ctx, store, task.Task{ID: 1, Repo: "acme/app", State: stage.State{Stage: stage.Done}}, "https://box.example.org", "v1")
	s, err := dssekey.Verify(ctx, key.PublicPEM(), []byte(issued.Bundle))
	fmt.Println(s.Commits(), err)
	// Output:
	// [c0ffee] <nil>
}
