package trackpostgres_test

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/adapters/trackpostgres"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

// scratch is the example's server; a test passes its *testing.T to pgtest.
type scratch struct{ cleanups []func() }

func (s *scratch) Helper()          {}
func (s *scratch) Failed() bool     { return false }
func (s *scratch) Log(...any)       {}
func (s *scratch) Fatal(a ...any)   { panic(fmt.Sprint(a...)) }
func (s *scratch) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }
func (s *scratch) end() {
	for _, f := range s.cleanups {
		f()
	}
}

// Tracks are kept once, however often they are brought.
func Example() {
	s := &scratch{}
	defer s.end()
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
