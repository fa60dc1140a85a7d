// Command benchtiles runs the benchmarks of the track layer and prints one table.
// Each benchmark lies beside the code that it measures and has its anchor in the
// same run; this program only runs them and puts their results together.
//
//	benchtiles                 all but a million tracks
//	benchtiles -tracks 20000   fewer tracks where many are measured, default 200,000
//	benchtiles -million        a million too: it takes long and gigabytes of disk
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
)

func main() {
	million := flag.Bool("million", false, "measure a million tracks too")
	tracks := flag.Int("tracks", 200_000, "measure so many tracks")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := table(ctx, os.Stdout, bench, *tracks, *million)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchtiles:", err)
		os.Exit(1)
	}
}

// bench runs the benchmarks of a package.
func bench(ctx context.Context, pkg, name string, args ...string) (map[string]values, error) {
	args = append([]string{"test", "-run", "^$", "-timeout", "60m", "-bench", name, pkg}, args...)
	var out bytes.Buffer
	c := exec.CommandContext(ctx, "go", args...)
	c.Stdout, c.Stderr = io.MultiWriter(&out, os.Stderr), os.Stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return parse(out.String()), nil
}

// asked runs the benchmarks of a package that a pattern names.
type asked func(ctx context.Context, pkg, name string, args ...string) (map[string]values, error)

// table measures every part and prints it when it is there.
func table(ctx context.Context, w io.Writer, ask asked, tracks int, million bool) error {
	for _, part := range []func(context.Context, io.Writer, asked) error{encoding, postgis, servers, list, upserts} {
		if err := part(ctx, w, ask); err != nil {
			return err
		}
	}
	return scales(ctx, w, ask, tracks, million)
}

func encoding(ctx context.Context, w io.Writer, ask asked) error {
	got, err := ask(ctx, "./gpstracks/tile", "^BenchmarkEncode$", "-benchtime", "300ms")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d processors, load %s\n\n", runtime.NumCPU(), load())
	row(w, "cold tile, 4,000 tracks", "encoder µs", "orb µs", "orb / encoder", "bytes", "orb bytes", "allocations")
	rule(w, 7)
	var ratios []float64
	for z := 5; z <= 14; z++ {
		v := got[fmt.Sprintf("BenchmarkEncode/z%d", z)]
		ratios = append(ratios, v["ratio"])
		row(w, fmt.Sprintf("z%d", z), v["ns/op"]/1000, v["stock-ns/op"]/1000, v["ratio"], v["bytes/tile"], v["stock-bytes/tile"], v["allocs/op"])
	}
	row(w, "geometric mean", "", "", mean(ratios), "", "", "")
	return nil
}

func postgis(ctx context.Context, w io.Writer, ask asked) error {
	got, err := ask(ctx, "./adapters/trackpostgres", "^BenchmarkPostGIS$", "-benchtime", "1x")
	if err != nil {
		return err
	}
	fmt.Fprintln(w)
	row(w, "cold tile, 4,000 tracks", "encoder µs", "from PostgreSQL µs", "PostGIS µs", "PostGIS / encoder", "PostGIS / from PostgreSQL", "bytes", "PostGIS bytes")
	rule(w, 8)
	if len(got) == 0 {
		row(w, "PostGIS is not installed: not measured", "", "", "", "", "", "", "")
		return nil
	}
	var ratios, kept []float64
	for z := 5; z <= 14; z++ {
		v := got[fmt.Sprintf("BenchmarkPostGIS/z%d", z)]
		ratios, kept = append(ratios, v["ratio"]), append(kept, v["store-ratio"])
		row(w, fmt.Sprintf("z%d", z), v["memory-ns"]/1000, v["store-ns"]/1000, v["postgis-ns"]/1000, v["ratio"], v["store-ratio"], v["bytes"], v["postgis-bytes"])
	}
	row(w, "geometric mean", "", "", "", mean(ratios), mean(kept), "", "")
	return nil
}

func servers(ctx context.Context, w io.Writer, ask asked) error {
	got, err := ask(ctx, "./adapters/trackpostgres", "^BenchmarkServers$", "-benchtime", "1x")
	if err != nil || len(got) == 0 {
		return err
	}
	for _, tracks := range []string{"long", "short"} {
		fmt.Fprintln(w)
		row(w, "cold tile over HTTP, "+tracks+" tracks", "µs", "transforming µs", "projected µs", "transforming / own", "projected / own", "bytes", "transforming bytes", "projected bytes")
		rule(w, 9)
		var transforming, projected []float64
		for z := 5; z <= 14; z++ {
			v := got[fmt.Sprintf("BenchmarkServers/%s/z%d", tracks, z)]
			transforming, projected = append(transforming, v["transforming-ratio"]), append(projected, v["projected-ratio"])
			row(w, fmt.Sprintf("z%d", z), v["own-ns"]/1000, v["transforming-ns"]/1000, v["projected-ns"]/1000, v["transforming-ratio"], v["projected-ratio"],
				v["bytes"], v["transforming-bytes"], v["projected-bytes"])
		}
		row(w, "geometric mean (goal: 25, at z14 4)", "", "", "", mean(transforming), mean(projected), "", "", "")
	}
	return nil
}

func list(ctx context.Context, w io.Writer, ask asked) error {
	got, err := ask(ctx, "./gpstracks/trackhttp", "^Benchmark(List|Tile)$", "-benchtime", "1s")
	if err != nil {
		return err
	}
	fmt.Fprintln(w)
	row(w, "list of 200 tracks", "encoder µs", "orb/geojson µs", "ratio (goal: 5)", "allocations")
	rule(w, 5)
	v := got["BenchmarkList"]
	row(w, "every point", v["own-ns/op"]/1000, v["orb-ns/op"]/1000, v["ratio"], v["allocs/op"])
	return nil
}

func upserts(ctx context.Context, w io.Writer, ask asked) error {
	fmt.Fprintln(w)
	row(w, "tracks kept a second", "SQLite, 1,000 a call", "PostgreSQL, 1,000 a call", "PostgreSQL, 5,000 a call")
	rule(w, 4)
	lite, err := ask(ctx, "./adapters/tracksqlite", "^BenchmarkTracksUpsert$", "-benchtime", "2x")
	if err != nil {
		return err
	}
	pg, err := ask(ctx, "./adapters/trackpostgres", "^BenchmarkTracksUpsert$", "-benchtime", "2x")
	if err != nil {
		return err
	}
	for _, kind := range []struct{ name, unit, title string }{
		{"short", "tracks/s", "new, 3 points"}, {"short", "built/s", "the same, tiers put together too"}, {"short", "anchor/s", "their rows in plain SQL"},
		{"known", "tracks/s", "known"}, {"seen", "tracks/s", "known, seen later"},
		{"long", "tracks/s", "new, 200 to 3,000 points"}, {"long", "built/s", "the same, tiers put together too"}, {"long", "anchor/s", "their rows in plain SQL"},
	} {
		of := func(got map[string]values, batch string) any {
			if v, ok := got["BenchmarkTracksUpsert/"+kind.name+batch]; ok {
				return v[kind.unit]
			}
			return "-"
		}
		row(w, kind.title, of(lite, ""), of(pg, "/1000"), of(pg, "/5000"))
	}
	return nil
}

func scales(ctx context.Context, w io.Writer, ask asked, tracks int, million bool) error {
	args := []string{"-benchtime", "1x", "-tracks", strconv.Itoa(tracks)}
	if million {
		args = append(args, "-million")
	}
	got, err := ask(ctx, "./examples/benchtiles", "^BenchmarkScale$", args...)
	if err != nil {
		return err
	}
	units := []string{"tracks/s", "built/s", "known/s", "z5-ms", "z8-ms", "z11-ms", "z14-ms", "list-ms", "heap-MB", "disk-MB"}
	fmt.Fprintln(w)
	row(w, append([]any{"tracks of 7 to 100 points"}, anys(units)...)...)
	rule(w, len(units)+1)
	for _, store := range []string{"sqlite", "postgresql"} {
		for _, n := range []int{tracks, 1_000_000} {
			v, ok := got[fmt.Sprintf("BenchmarkScale/%s/%d", store, n)]
			cells := []any{fmt.Sprintf("%s, %d", store, n)}
			for _, unit := range units {
				if ok {
					cells = append(cells, v[unit])
				} else {
					cells = append(cells, "-")
				}
			}
			row(w, cells...)
		}
	}
	fmt.Fprintf(w, "\nload at the end %s\n", load())
	return nil
}

// load is what the system says of it.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b))[:3], " ")
}

// mean is the geometric one.
func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(list)))
}
