package postgres_test

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/queue"
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

func Example() {
	s := &scratch{}
	defer s.end()
	ctx := context.Background()
	// AllowUnsafe: a test's server forgets.
	db, err := postgres.Open(ctx, postgres.Options{URL: pgtest.Open(s), AllowUnsafe: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	_, err = db.Put(ctx, queue.Job{Pool: "agents", Kind: "build"})
	claims, _ := db.Take(ctx, "agents", "worker-1", 1, time.Minute)
	fmt.Println(claims[0].Job.Kind, err)
	lease, err := db.Leases().Acquire(ctx, "merge acme/app", "task/1", time.Minute)
	fmt.Println(lease.Holder, err)
	// Output:
	// build <nil>
	// task/1 <nil>
}
