package main

import (
	"fmt"
	"slices"
	"strings"
)

// table is what was measured, a row for each comparison.
type table struct{ rows [][]string }

// row adds a comparison; a goal of 0 is none.
func (t *table) row(what, ours, theirs string, ratio, goal float64) {
	met, wanted, times := "", "", ""
	if ratio > 0 {
		times = fmt.Sprintf("%.2f", ratio)
	}
	if goal > 0 {
		wanted = fmt.Sprintf(">= %g", goal)
		if met = "met"; ratio < goal {
			met = "missed"
		}
		if ratio == 0 {
			met = "not measured"
		}
	}
	t.rows = append(t.rows, []string{what, ours, theirs, times, wanted, met})
}

func (t *table) String() string {
	var b strings.Builder
	b.WriteString("| what | ours | beside it | ratio | goal | |\n|---|---|---|---|---|---|\n")
	for _, r := range t.rows {
		b.WriteString("| " + strings.Join(r, " | ") + " |\n")
	}
	return b.String()
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// spread tells a median and what it lies between.
func spread(list []float64, unit string) string {
	if len(list) == 0 {
		return "-"
	}
	return fmt.Sprintf("%s%s (%s-%s)", short(median(list)), unit, short(slices.Min(list)), short(slices.Max(list)))
}

func short(f float64) string {
	switch {
	case f >= 100_000:
		return fmt.Sprintf("%.0f k", f/1000)
	case f >= 10_000:
		return fmt.Sprintf("%.1f k", f/1000)
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	default:
		return fmt.Sprintf("%.2f", f)
	}
}

// inTurns calls each of some measurements once in every round; the order changes
// from round to round. It returns what each has measured.
func inTurns(rounds int, each ...func() (float64, error)) ([][]float64, error) {
	out := make([][]float64, len(each))
	for round := range rounds {
		for i := range each {
			k := (i + round) % len(each)
			v, err := each[k]()
			if err != nil {
				return out, err
			}
			out[k] = append(out[k], v)
		}
	}
	return out, nil
}

func ratio(ours, theirs []float64) float64 {
	if median(theirs) == 0 {
		return 0
	}
	return median(ours) / median(theirs)
}
