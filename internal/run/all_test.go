package run_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/run"
)

// What a panic or the context has cut short is not taken to be done.
func TestStart(t *testing.T) {
	var sum atomic.Int64
	add := func(i int) { sum.Add(int64(i)) }
	require.NoError(t, run.Start(t.Context(), nil, "add", 10, add)())
	require.EqualValues(t, 45, sum.Load())
	require.NoError(t, run.Start(t.Context(), nil, "nothing", 0, add)())
	require.ErrorIs(t, run.Start(t.Context(), nil, "panic", 10, func(i int) {
		if i == 7 {
			panic("damaged")
		}
	})(), run.ErrUnfinished)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, run.Start(ended, nil, "add", 10, add)(), context.Canceled)
	require.EqualValues(t, 45, sum.Load())
}
