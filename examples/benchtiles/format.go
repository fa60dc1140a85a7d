package main

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// values are what one benchmark reports, by unit.
type values map[string]float64

var processors = regexp.MustCompile(`-\d+$`)

// parse reads what go test prints of benchmarks.
func parse(out string) map[string]values {
	found := map[string]values{}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		v := values{}
		for i := 2; i+1 < len(fields); i += 2 {
			if n, err := strconv.ParseFloat(fields[i], 64); err == nil {
				v[fields[i+1]] = n
			}
		}
		found[processors.ReplaceAllString(fields[0], "")] = v
	}
	return found
}

// row prints one row of a table in Markdown.
func row(w io.Writer, cells ...any) {
	for _, c := range cells {
		if v, ok := c.(float64); ok {
			c = number(v)
		}
		fmt.Fprintf(w, "| %v ", c)
	}
	fmt.Fprintln(w, "|")
}

func rule(w io.Writer, columns int) { fmt.Fprintln(w, strings.Repeat("|---", columns)+"|") }

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

func anys(list []string) (out []any) {
	for _, s := range list {
		out = append(out, s)
	}
	return out
}
