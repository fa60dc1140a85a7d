package tile

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Candidates that are brought in order part by part are in the order in which sorting
// all of them brings them, whatever there was before.
func TestArrange(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, n := range []int{0, 1, 2, 3, 10, atOnce - 1, atOnce, atOnce + 1, 3*atOnce + 7, 40_000} {
		for _, kinds := range []uint32{1, 3, 1000, 1 << 31} {
			all := make([]candidate, n)
			for i := range all {
				all[i] = candidate{metres: rng.Uint32N(kinds), id: uint64(i / 2), order: uint32(i % 2)}
			}
			rng.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
			if n%2 == 1 {
				slices.SortFunc(all[:n/2], important)
			}
			want := slices.SortedFunc(slices.Values(all), important)
			for done := 0; done < n; {
				end := arrange(all, done)
				require.Greater(t, end, done)
				require.Equal(t, want[:end], all[:end], "%d of %d", end, n)
				done = end
			}
		}
	}
}
