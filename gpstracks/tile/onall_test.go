package tile

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a panic has cut short is not taken to be done.
func TestOnAll(t *testing.T) {
	var sum atomic.Int64
	require.NoError(t, onAll(t.Context(), nil, "add", 10, func(i int) { sum.Add(int64(i)) }))
	require.EqualValues(t, 45, sum.Load())
	require.ErrorIs(t, onAll(t.Context(), nil, "panic", 10, func(i int) {
		if i == 7 {
			panic("damaged")
		}
	}), errUnfinished)
}
