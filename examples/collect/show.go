package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
)

// screen shows progress: as a bar on a terminal, else as a line for each tenth.
// Lines that are written to it go above the bar.
type screen struct {
	w        io.Writer
	terminal bool

	mu    sync.Mutex
	bar   string
	tenth int // of the last line, counted from 1
}

// erase goes to the beginning of the line and empties it.
const erase = "\r\x1b[K"

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar == "" {
		return s.w.Write(p)
	}
	fmt.Fprint(s.w, erase)
	n, err := s.w.Write(p)
	fmt.Fprint(s.w, s.bar)
	return n, err
}

// progress shows how far a run is.
func (s *screen) progress(p collect.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf("%3.0f %%  %s: %d requests, %d new, %d known", 100*p.Share, title(p.Run), p.Run.Requests, p.Run.Inserted,
		p.Run.Duplicates+p.Run.Updated)
	if s.terminal {
		const width = 30
		done := int(width * p.Share)
		s.bar = "[" + strings.Repeat("#", done) + strings.Repeat("-", width-done) + "] " + text
		fmt.Fprint(s.w, erase, s.bar)
		return
	}
	if tenth := int(10*p.Share) + 1; tenth > s.tenth {
		s.tenth = tenth
		fmt.Fprintln(s.w, text)
	}
}

// end shows how a run ended.
func (s *screen) end(r gpstracks.Run, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != "" {
		fmt.Fprintln(s.w)
	}
	s.bar, s.tenth = "", 0
	if err != nil {
		fmt.Fprintf(s.w, "%s: %s: %v\n", title(r), r.Status, err)
	}
}

func title(r gpstracks.Run) string {
	if r.Region == "" {
		return r.Source + " from files"
	}
	return r.Source + " in " + r.Region
}

// table shows all runs.
func table(w io.Writer, runs []gpstracks.Run) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SOURCE\tREGION\tSTATUS\tREQUESTS\tREAD\tNEW\tUPDATED\tKNOWN\tREJECTED\tKB\tTIME")
	dry := false
	for _, r := range runs {
		dry = dry || r.DryRun
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", r.Source, cmp.Or(r.Region, "-"), r.Status, r.Requests, r.Fetched,
			r.Inserted, r.Updated,
			r.Duplicates, r.Rejected, (r.Bytes+1023)/1024, r.FinishedAt.Sub(r.StartedAt).Round(time.Second))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range runs {
		if r.Status == gpstracks.StatusDone && r.Error != "" {
			fmt.Fprintf(w, "%s: %s\n", title(r), r.Error)
		}
		tally(w, title(r)+", not kept", r.RejectedFor)
		tally(w, title(r)+", kept without a part", r.ChangedFor)
	}
	if dry {
		fmt.Fprintln(w, "dry run: no track was kept")
	}
	return nil
}

// tally shows numbers of tracks by reason, a line each.
func tally(w io.Writer, what string, t gpstracks.Tally) {
	for _, why := range gpstracks.Reasons() {
		if t[why] > 0 {
			fmt.Fprintf(w, "%s: %d (%s)\n", what, t[why], why.Words())
		}
	}
}

// reasons shows what a sweep removes.
func reasons(w io.Writer, s collect.Sweep) error {
	if s.Total == 0 {
		fmt.Fprintln(w, "nothing is to be removed")
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TRACKS\tREASON")
	for _, r := range s.Reasons {
		fmt.Fprintf(t, "%d\t%s\n", r.Tracks, r.Reason)
	}
	fmt.Fprintf(t, "%d\tto be removed\n", s.Total)
	return t.Flush()
}
