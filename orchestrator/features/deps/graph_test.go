package deps_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
)

// A cycle is one, and where none is found the tasks can be put in order.
func TestCycleIsRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := deps.Graph{}
		for range rapid.IntRange(0, 12).Draw(t, "edges") {
			from := rapid.Int64Range(1, 6).Draw(t, "from")
			g[from] = append(g[from], rapid.Int64Range(1, 6).Draw(t, "to"))
		}
		if c := g.Cycle(); c != nil {
			for i, id := range c {
				require.True(t, slices.Contains(g[id], c[(i+1)%len(c)]), "%v in %v", c, g)
			}
			return
		}
		done := map[int64]bool{}
		for range 7 {
			for id := int64(1); id <= 6; id++ {
				if !slices.ContainsFunc(g[id], func(on int64) bool { return !done[on] }) {
					done[id] = true
				}
			}
		}
		require.Len(t, done, 6, "%v has no order", g)
	})
}

func ExampleGraph_Cycle() {
	fmt.Println(deps.Graph{7: {8}, 8: {9}, 9: {7}}.Cycle())
	fmt.Println(deps.Graph{7: {8}, 8: {9}}.Cycle())
	// Output:
	// [7 8 9]
	// []
}
