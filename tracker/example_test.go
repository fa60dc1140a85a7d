package tracker_test

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// A comment is posted once for its key, however often it is requested.
func Example() {
	board := memtracker.New(nil)
	board.AddProject("p")
	board.Put(tracker.Item{ID: "i", ProjectID: "p", Title: "Cache tiles"})
	var t tracker.Tracker = board
	c := tracker.NewComment{ProjectID: "p", ItemID: "i", Author: stage.Analyst, Key: "7/1/0", Body: "The task is taken up: the analyst is next."}
	for range 3 {
		if _, err := t.AddComment(context.Background(), c); err != nil {
			fmt.Println(err)
		}
	}
	list, _ := t.Comments(context.Background(), "p", "i")
	fmt.Println(len(list), list[0].Own)
	// Output: 1 true
}
