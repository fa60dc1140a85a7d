package trackpostgres_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/signalbox-dev/signalbox/adapters/trackpostgres"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

func TestMain(m *testing.M) {
	pgtest.SkipExamples()
	m.Run()
}

// Tracks are kept once, however often they are brought.
func Example() {
	s := &pgtest.Scratch{}
	defer s.End()
	ctx := context.Background()
	// AllowUnsafe: a test's server forgets.
	store, err := trackpostgres.Open(ctx, trackpostgres.Options{URL: pgtest.Open(s), AllowUnsafe: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	for range 2 {
		done, err := store.Upsert(ctx, sample.Tracks(20, 1))
		fmt.Println("new:", done.Inserted, err)
	}
	// Output:
	// new: 20 <nil>
	// new: 0 <nil>
}
