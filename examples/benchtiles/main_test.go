package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What benchmarks report comes into tables; what did not run is said to be missing.
func TestTables(t *testing.T) {
	var asked, b strings.Builder
	run := func(_ context.Context, pkg, name string, args ...string) (string, error) {
		asked.WriteString(pkg + strings.Join(args, " "))
		if name == "BenchmarkPeers" {
			return "ok\n", nil
		}
		return "goos: linux\nBenchmarkEncode/z5-2  100  81234 ns/op  10 ratio  0 allocs/op\nBenchmarkEncode/z14 1 5e3 ns/op 1000 ratio\nPASS\n", nil
	}
	require.NoError(t, tables(t.Context(), &b, run, 70))
	require.Contains(t, asked.String(), "./internal/trackstore-benchtime 1x -tracks 70")
	require.Contains(t, b.String(), "\n| benchmark | allocs/op | ns/op | ratio |\n|---|---|---|---|\n| BenchmarkEncode/z5 | 0 | 81,234 | 10.0 |\n"+
		"| BenchmarkEncode/z14 | 0 | 5,000 | 1,000 |\n| geometric mean |  |  | 100 |\n")
	require.Contains(t, b.String(), "not measured")
	broken := errors.New("broken")
	require.ErrorIs(t, tables(t.Context(), &b, func(context.Context, string, string, ...string) (string, error) { return "", broken }, 1), broken)
	require.Equal(t, []string{"1.23", "33.3", "12,346"}, []string{number(1.234), number(33.33), number(12345.6)})
}
