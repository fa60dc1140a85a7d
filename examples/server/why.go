package main

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
)

type whyCmd struct {
	Task string `arg:"" help:"Task id, or work item id such as GPX-42."`
	client
}

// Run asks the running server.
func (c whyCmd) Run(s *streams) error {
	id, err := c.find(c.Task)
	if err != nil {
		return err
	}
	var x orchestrator.Explanation
	if err := c.call(http.MethodGet, fmt.Sprintf("/tasks/%d/explain", id), nil, &x); err != nil {
		return err
	}
	show(s.out, x)
	return nil
}

// show prints an explanation for people.
func show(w io.Writer, x orchestrator.Explanation) {
	fmt.Fprintf(w, "%s (task %d, %s): %s\n", x.WorkItem, x.TaskID, x.Repo, x.Title)
	fmt.Fprintf(w, "  at %s since %s\n  %s\n", x.Stage, x.Since.UTC().Format(time.RFC3339), x.Summary)
	for _, b := range x.Blockers {
		fmt.Fprintf(w, "  waits for %s: %s\n      ends with: %s\n", b.Kind, b.Text, b.Unblocks)
	}
	for _, o := range x.Owed {
		word := "owed"
		if o.GivenUp {
			word = "given up"
		}
		fmt.Fprintf(w, "  %s: %s\n", word, o.Text)
	}
	for _, m := range x.Moves {
		fmt.Fprintf(w, "  %s → %s: %s\n", m.On, m.To, m.Why)
	}
	if x.LastNote != "" {
		fmt.Fprintf(w, "  last: %s\n", x.LastNote)
	}
}
