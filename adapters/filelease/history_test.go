package filelease_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/filelease"
	"github.com/signalbox-dev/signalbox/queue/historytest"
)

// TestMain lets the test's own program be a process that is killed.
func TestMain(m *testing.M) {
	if os.Getenv(historytest.EnvWhat) != "" {
		historian()
	}
	os.Exit(m.Run())
}

// historian is a process that acquires leases and reports what it saw.
func historian() {
	l, err := filelease.New(os.Getenv(historytest.EnvWhere), nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	historytest.Main(func(ctx context.Context, log *historytest.Log) {
		historytest.Leases(ctx, l, log, 300, 30*time.Millisecond)
	})
}

// Processes share a directory; one is killed and one is paused: what everybody
// saw can be explained by one call after the other.
func TestHistory(t *testing.T) {
	clients := historytest.NewClients(t, t.TempDir())
	a, b, c := clients.Start("leases"), clients.Start("leases"), clients.Start("leases")
	clients.More(200)
	clients.Kill(a)
	d := clients.Start("leases")
	resume := clients.Pause(b, 200)
	resume()
	clients.Finish(b, c, d)
	historytest.CheckLeases(t, clients.History()).Need(t, "acquire", "release", "holder", "no acquire", "no release", "no holder")
}
