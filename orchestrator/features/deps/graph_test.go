package deps

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A cycle is one, and where no task is in one the tasks can be put in order.
func TestCycleIsRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := map[int64][]int64{}
		for range rapid.IntRange(0, 12).Draw(t, "edges") {
			from := rapid.Int64Range(1, 6).Draw(t, "from")
			g[from] = append(g[from], rapid.Int64Range(1, 6).Draw(t, "to"))
		}
		found := false
		for id := int64(1); id <= 6; id++ {
			path, err := findPath(id, id, func(id int64) ([]int64, error) { return g[id], nil })
			require.NoError(t, err)
			if path == nil {
				continue
			}
			found = true
			require.Equal(t, []int64{id, id}, []int64{path[0], path[len(path)-1]})
			for i := range len(path) - 1 {
				require.Contains(t, g[path[i]], path[i+1], "%v in %v", path, g)
			}
		}
		done := map[int64]bool{}
		for range 7 {
			for id := int64(1); id <= 6; id++ {
				if !slices.ContainsFunc(g[id], func(on int64) bool { return !done[on] }) {
					done[id] = true
				}
			}
		}
		require.Equal(t, found, len(done) < 6, "%v", g)
	})
}
