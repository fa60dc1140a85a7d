package main

import (
	"fmt"
	"strings"
)

// table is all results as one Markdown table, with what went wrong below it.
func table(results []result) string {
	var b, wrong strings.Builder
	head := []string{
		"store", "features", "other live tasks", "lives/s",
		"processor ms a life: program", "server", "statements a life", "rows read a life",
		"board ms", "repos ms", "queue page ms", "GET /queue ms",
		"idle % of a core: program", "server", "restart ms", "RSS MB",
	}
	row(&b, head)
	row(&b, strings.Split(strings.Repeat("---,", len(head)-1)+"---", ","))
	for _, r := range results {
		cells := []string{
			r.Store, r.Features, fmt.Sprint(r.Live), short(r.LivesPerSecond),
			short(r.ProgramMS), short(r.ServerMS), short(r.Statements), short(r.Rows),
		}
		for _, path := range paths() {
			cells = append(cells, short(r.Pages[path]))
		}
		row(&b, append(cells, short(r.IdleProgram), short(r.IdleServer), short(r.RestartMS), short(r.RSS)))
		if r.Error != "" {
			fmt.Fprintf(&wrong, "- %s, features %s, %d other live tasks (%d lives): %s\n",
				r.Store, r.Features, r.Live, r.Lives, strings.ReplaceAll(r.Error, "\n", "; "))
		}
	}
	if wrong.Len() > 0 {
		b.WriteString("\n" + wrong.String())
	}
	return b.String()
}

func row(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// short is a figure with three digits; - when there is none.
func short(f float64) string {
	switch {
	case f == 0:
		return "-"
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	default:
		return fmt.Sprintf("%.2f", f)
	}
}
