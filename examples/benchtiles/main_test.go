package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What benchmarks report comes into the table; what did not run is said to be
// missing.
func TestTable(t *testing.T) {
	const out = `goos: linux
BenchmarkEncode/z5-2     100   81234 ns/op   412 ratio   0 allocs/op
BenchmarkEncode/z14      1     5e3 ns/op   33.3 ratio
BenchmarkScale/sqlite/200000-8  1  7123.4 tracks/s
PASS
`
	require.Equal(t, map[string]values{
		"BenchmarkEncode/z5":           {"ns/op": 81234, "ratio": 412, "allocs/op": 0},
		"BenchmarkEncode/z14":          {"ns/op": 5000, "ratio": 33.3},
		"BenchmarkScale/sqlite/200000": {"tracks/s": 7123.4},
	}, parse(out))
	var asked []string
	ask := func(_ context.Context, pkg, name string, args ...string) (map[string]values, error) {
		asked = append(asked, pkg+" "+name)
		if strings.Contains(name, "PostGIS") || strings.Contains(name, "Servers") {
			return nil, nil
		}
		return parse(out), nil
	}
	var b bytes.Buffer
	require.NoError(t, table(t.Context(), &b, ask, 200_000, false))
	require.Len(t, asked, 7)
	require.Contains(t, b.String(), "| z5 | 81.2 | 0 | 412 |")
	require.Contains(t, b.String(), "PostGIS is not installed: not measured")
	require.Contains(t, b.String(), "| sqlite, 200000 | 7,123 |")
	require.Contains(t, b.String(), "| postgresql, 1000000 | - |")
	broken := errors.New("broken")
	err := table(t.Context(), &b, func(context.Context, string, string, ...string) (map[string]values, error) { return nil, broken }, 200_000, false)
	require.ErrorIs(t, err, broken)
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1.234: "1.23", 33.33: "33.3", 412.4: "412", 12345.6: "12,346", 1234567: "1,234,567"} {
		require.Equal(t, want, number(v))
	}
	require.InDelta(t, 10, mean([]float64{1, 100}), 1e-9)
}
