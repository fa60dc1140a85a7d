package tracksqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
)

// Tracks are kept once, however often they are brought.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "tracks")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := tracksqlite.Open(ctx, tracksqlite.Options{Path: filepath.Join(dir, "tracks.db")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	for range 2 {
		done, err := store.Upsert(ctx, sample.Tracks(100, 1))
		fmt.Println("new:", done.Inserted, err)
	}
	n := 0
	for range store.List(ctx, gpstracks.Filter{Activities: []gpstracks.Activity{gpstracks.Cycling}, Limit: 3}) {
		n++
	}
	fmt.Println("rides:", n)
	// Output:
	// new: 100 <nil>
	// new: 0 <nil>
	// rides: 3
}
