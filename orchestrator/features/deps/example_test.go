package deps_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
)

func Example() {
	waits := deps.Graph{3: {1}, 1: {2}, 2: {3}, 4: {3}}
	fmt.Println(waits.Cycle())
	// Output: [1 2 3]
}
