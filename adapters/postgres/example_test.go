package postgres_test

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/queue"
)

func Example() {
	s := &pgtest.Scratch{}
	defer s.End()
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
