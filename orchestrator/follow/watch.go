package follow

import (
	"context"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Limits of a Watch.
const (
	lookEvery  = 2 * time.Second // a run at work is read no more often
	watchedMax = 100             // runs
	filesMax   = 1000            // that are counted, of one run
	batch      = 1000            // steps read at a time
)

// Progress holds what a run has done so far.
type Progress struct {
	Tools int        // calls
	Files int        // that it has changed; counted up to 1000
	Usage work.Usage // the newest
	Last  work.Step  // the newest that says what it does; Kind is empty before
	Next  int64      // offset behind what was counted: it grows when anything is new
}

// Watch counts what runs do. All its readers share one reading, of what is new alone. It is
// made with Logs; nil Logs have nothing.
type Watch struct {
	Logs work.Logs

	mu sync.Mutex
	by map[work.LogName]*watched
}

type watched struct {
	Progress
	at    time.Time
	paths map[string]bool
}

// Progress reads how far a run is; of one at work it is up to two seconds old. A run without
// steps has none.
func (w *Watch) Progress(ctx context.Context, x Execution) (Progress, error) {
	name := x.Log(work.StreamSteps)
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.by[name]
	if seen == nil {
		if w.by == nil {
			w.by = map[work.LogName]*watched{}
		}
		if len(w.by) >= watchedMax { // the one that was read longest ago makes room
			delete(w.by, slices.MinFunc(slices.Collect(maps.Keys(w.by)), func(a, b work.LogName) int {
				return w.by[a].at.Compare(w.by[b].at)
			}))
		}
		seen = &watched{paths: map[string]bool{}}
		w.by[name] = seen
	}
	if x.Live && time.Since(seen.at) < lookEvery {
		return seen.Progress, nil
	}
	f, err := x.Steps(ctx, w.Logs)
	if err != nil {
		return seen.Progress, err
	}
	defer f.Close()
	err = seen.catchUp(f, !x.Live)
	seen.at = time.Now()
	return seen.Progress, err
}

func (s *watched) catchUp(r io.ReadSeeker, ended bool) error {
	for {
		lines, next, err := Read(r, s.Next, batch, ended)
		if err != nil || next == s.Next {
			return err
		}
		s.Next = next
		for _, l := range lines {
			s.count(l.Step)
		}
	}
}

func (s *watched) count(step work.Step) {
	switch step.Kind {
	case work.StepTool:
		s.Tools++
	case work.StepFile:
		if len(s.paths) < filesMax {
			s.paths[step.Path] = true
		}
		s.Files = len(s.paths)
	}
	if step.Usage != nil {
		s.Usage = *step.Usage
	}
	if step.Kind != work.StepUsage {
		s.Last = step
	}
}
