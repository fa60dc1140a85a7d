package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
)

func dependencies(k *kit) {
	set := func(task int64, source string, on ...int64) {
		k.Helper()
		require.NoError(k, k.s.SetDependencies(k.Context(), task, source, on))
	}
	list := func() (out [][2]int64) {
		k.Helper()
		deps, err := k.s.Dependencies(k.Context())
		require.NoError(k, err)
		for _, d := range deps {
			require.True(k, d.CreatedAt.Equal(k.clock.Now()))
			out = append(out, [2]int64{d.TaskID, d.On})
		}
		return out
	}
	require.Empty(k, list())
	set(2, "tracker", 1, 9)
	set(2, "db", 1, 3)
	set(4, "db", 2)
	require.Equal(k, [][2]int64{{2, 1}, {2, 3}, {2, 9}, {4, 2}}, list())
	set(2, "tracker", 9, 9)
	require.Equal(k, [][2]int64{{2, 3}, {2, 9}, {4, 2}}, list(), "what the tracker named first was the tracker's")
	set(2, "tracker")
	set(2, "db")
	deps, err := k.s.Dependencies(k.Context())
	require.NoError(k, err)
	require.Equal(k, []orchestrator.Dependency{{TaskID: 4, On: 2, Source: "db", CreatedAt: k.clock.Now()}}, deps)
}
