package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

// Three servers share a database. They are killed and paused for longer than their claims live, in turn; the database is killed and
// comes back, is cut off, and is replaced by its standby: every card meets its fate, and nothing is seen twice.
func TestReplicas(t *testing.T) {
	long(t)
	primary := pgtest.Start(t, pgtest.Options{Durable: true})
	wire, url := pgtest.NewWire(t, primary.URL("postgres"))
	ctx, end := context.WithCancel(t.Context())
	struck := make(chan int, 1)
	go func() {
		n := 0
		defer func() { struck <- n }()
		for ; n < 12; n++ {
			select {
			case <-ctx.Done():
				return
			case <-time.After(2 * time.Second):
			}
			switch {
			case n == 4:
				standby, err := wire.Failover(t, primary)
				assert.NoError(t, err)
				primary = standby
			case n%2 == 0:
				assert.NoError(t, primary.Restart())
			default:
				wire.Broken.Lock()
				time.Sleep(jobTTL + jobTTL/3)
				wire.Broken.Unlock()
			}
		}
	}()
	s := demo(t, "-speed", "8", "-database-url", url, "-replicas", "3", "-kills", "8", "-pauses", "4", "-lose", "0.3", "-limit", "10m")
	end()
	require.Greater(t, <-struck, 6)
	require.GreaterOrEqual(t, s.Restarts, 8)
}
