package run_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/run"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStopEndsAndWaits(t *testing.T) {
	g := run.New(t.Context(), nil)
	ended := make(chan string, 3)
	g.Go("waits", func(ctx context.Context) { <-ctx.Done(); ended <- "waits" })
	g.Go("panics", func(context.Context) { defer func() { ended <- "panics" }(); panic("oh") })
	before := run.Panics()
	g.Stop()
	require.Len(t, ended, 2)
	require.GreaterOrEqual(t, run.Panics(), before)
	require.Error(t, g.Context().Err())
}

func Example() {
	g := run.New(context.Background(), nil)
	g.Go("greeting", func(context.Context) { fmt.Println("hello") })
	g.Wait()
	// Output: hello
}
