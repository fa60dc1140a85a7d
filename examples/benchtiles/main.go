// Command benchtiles runs the benchmarks of the track layer and prints a table of each. A benchmark
// lies beside the code that it measures and has its anchor in the same run; this program only runs them
// and puts their results together. A column of ratios ends with their geometric mean.
//
//	benchtiles                 all but a million tracks
//	benchtiles -tracks 20000   fewer tracks where many are measured, default 200,000
//	benchtiles -million        a million: it takes long and gigabytes of disk
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
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

func main() {
	million := flag.Bool("million", false, "measure a million tracks")
	tracks := flag.Int("tracks", 200_000, "measure so many tracks")
	flag.Parse()
	if *million {
		*tracks = 1_000_000
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := tables(ctx, os.Stdout, bench, *tracks)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchtiles:", err)
		os.Exit(1)
	}
}

// bench runs the benchmark of a package and returns what go test prints.
func bench(ctx context.Context, pkg, name string, args ...string) (string, error) {
	args = append([]string{"test", "-run", "^$", "-timeout", "60m", "-bench", "^" + name + "$", pkg}, args...)
	var out bytes.Buffer
	c := exec.CommandContext(ctx, "go", args...)
	c.Stdout, c.Stderr = io.MultiWriter(&out, os.Stderr), os.Stderr
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return out.String(), nil
}

// tables measures every part and prints it when it is there.
func tables(ctx context.Context, w io.Writer, run func(ctx context.Context, pkg, name string, args ...string) (string, error), tracks int) error {
	for _, part := range [][]string{
		{"./gpstracks/tile", "BenchmarkEncode", "-benchtime", "300ms"}, {"./adapters/trackpostgres", "BenchmarkPeers", "-benchtime", "1x"},
		{"./gpstracks/trackhttp", "BenchmarkList", "-benchtime", "1s"},
		{"./internal/trackstore", "BenchmarkStore", "-benchtime", "1x", "-tracks", strconv.Itoa(tracks)},
	} {
		out, err := run(ctx, part[0], part[1], part[2:]...)
		if err != nil {
			return err
		}
		load, _ := os.ReadFile("/proc/loadavg") // there is none but on Linux
		fmt.Fprintf(w, "\n%s of %s; %d processors, load %.4s\n\n", part[1], part[0], runtime.NumCPU(), load)
		table(w, out)
	}
	return nil
}

var processors = regexp.MustCompile(`-\d+$`)

// table prints what go test prints of a benchmark in Markdown.
func table(w io.Writer, out string) {
	var units []string
	var rows []map[string]float64
	var names []string
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		row := map[string]float64{}
		for i := 2; i+1 < len(fields); i += 2 {
			if n, err := strconv.ParseFloat(fields[i], 64); err == nil {
				row[fields[i+1]] = n
				if !slices.Contains(units, fields[i+1]) {
					units = append(units, fields[i+1])
				}
			}
		}
		names, rows = append(names, processors.ReplaceAllString(fields[0], "")), append(rows, row)
	}
	if len(rows) == 0 {
		fmt.Fprintln(w, "not measured: what it needs is not installed")
		return
	}
	slices.Sort(units)
	fmt.Fprintf(w, "| benchmark | %s |\n|---%s|\n", strings.Join(units, " | "), strings.Repeat("|---", len(units)))
	mean := map[string]float64{}
	for i, row := range rows {
		fmt.Fprintf(w, "| %s |", names[i])
		for _, unit := range units {
			mean[unit] += math.Log(row[unit]) / float64(len(rows))
			fmt.Fprintf(w, " %s |", number(row[unit]))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "| geometric mean |")
	for _, unit := range units {
		text := ""
		if strings.HasSuffix(unit, "ratio") {
			text = number(math.Exp(mean[unit]))
		}
		fmt.Fprintf(w, " %s |", text)
	}
	fmt.Fprintln(w)
}

// number has three digits that count, and commas.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
