package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/queue/historytest"
)

// historian is a process that calls the store and reports what it saw.
func historian() {
	db, err := sqlite.Open(context.Background(), sqlite.Options{Path: os.Getenv(historytest.EnvWhere)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	historytest.Main(func(ctx context.Context, log *historytest.Log) {
		historytest.Jobs(ctx, db, log, 400, 30*time.Millisecond)
	})
}

// A process that works on a file is killed at any moment and another goes on with
// it, time and again: what all of them saw can be explained by one call after the
// other.
func TestHistory(t *testing.T) {
	path := place(t)
	clients := historytest.NewClients(t, path)
	for n := 0; n < 4 || n < 40 && historytest.CheckJobs(t, clients.History())["pending"] == 0; n++ { // one is killed within a call
		p := clients.Start("jobs")
		clients.More(150)
		clients.Kill(p)
	}
	clients.Finish(clients.Start("jobs"))
	db := openAt(t, path)
	var wg sync.WaitGroup
	for range 4 {
		log := clients.Log()
		wg.Go(func() {
			historytest.Jobs(t.Context(), db, log, 300, 10*time.Millisecond)
			if err := log.Err(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	agree(t, path)
	end := clients.Log()
	historytest.See(t.Context(), db, end)
	require.NoError(t, end.Err())
	historytest.CheckJobs(t, clients.History()).Need(t, "put", "take", "extend", "finish", "again", "cancel", "reap", "pending", "no finish", "no cancel")
}
