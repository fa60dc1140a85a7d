package dashboard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/follow"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Limits of a log on a page, in bytes.
const (
	tailMax  = 64 << 10
	chunkMax = 256 << 10
)

// runPage is one agent run with what it did, and the end of what it has printed.
type runPage struct {
	Task    task.Task
	Run     follow.Execution
	Attempt []follow.Execution // all of the same run
	Models  []sum              // of the run
	Doing   follow.Progress
	Facts   []fact
	Steps   steps
	Out     pane
	Err     pane
	Hooks   pane // without text when none has run
}

// pane is the end of a log.
type pane struct {
	Text string
	Next int64 // where to go on reading
	Cut  bool  // it begins later than the log
	None string
}

// findRun finds a run by its path.
func (s *server) findRun(r *http.Request) (t task.Task, all []follow.Execution, found follow.Execution, err error) {
	id, err1 := number(r, "id")
	run, err2 := number(r, "run")
	attempt, err3 := number(r, "attempt")
	if err := errors.Join(err1, err2, err3); err != nil {
		return t, nil, found, badRequest("The address of a run is tasks/<id>/runs/<run>/<attempt>.")
	}
	if t, all, err = follow.Of(r.Context(), s.Engine, id, run); err != nil {
		return t, nil, found, err
	}
	err = notFound("There is no such run.")
	for _, x := range all {
		if int64(x.Attempt) == attempt {
			found, err = x, nil
		}
	}
	return t, all, found, err
}

func (s *server) run(r *http.Request) (view, error) {
	t, all, l, err := s.findRun(r)
	if err != nil {
		return view{}, err
	}
	p := runPage{Task: t, Run: l, Attempt: all}
	p.Models, _ = sums(slices.All(all))
	p.Doing = s.progress(r.Context(), l)
	p.Facts = factsOf(l, p.Doing)
	if p.Steps, err = s.lastSteps(r, l); err != nil {
		return view{}, err
	}
	p.Out, p.Err = s.pane(r.Context(), l, work.StreamOutput), s.pane(r.Context(), l, work.StreamErrors)
	p.Hooks = s.pane(r.Context(), l, streamHooks)
	v := view{Name: "run", Title: item(t.WorkItemID) + ": " + string(l.Role), Nav: "board", Still: !l.Live, Script: "follow.js", Data: p}
	v.watch(l, p.Doing)
	return v, nil
}

// streamHooks names what the hooks of an attempt have printed, beside the streams of its agent.
const streamHooks work.Stream = "hooks"

func logName(l follow.Execution, stream work.Stream) work.LogName {
	if stream == streamHooks {
		return orchestrator.HookLog(l.TaskID, l.Run, l.Attempt)
	}
	return l.Log(stream)
}

// pane reads the end of a run's log.
func (s *server) pane(ctx context.Context, l follow.Execution, stream work.Stream) pane {
	if s.Logs == nil {
		return pane{None: "Logs are not shown here."}
	}
	f, err := s.Logs.OpenLog(ctx, logName(l, stream))
	switch {
	case errors.Is(err, fs.ErrNotExist) && l.Live:
		return pane{} // it begins when something is printed, and the page follows it
	case errors.Is(err, fs.ErrNotExist):
		return pane{None: "Nothing was kept."}
	case err != nil:
		s.Log.Error("a log could not be opened", "task", l.TaskID, "run", l.Run, "err", err)
		return pane{None: "The log cannot be read."}
	}
	defer f.Close()
	size, err1 := f.Seek(0, io.SeekEnd)
	from := max(0, size-tailMax)
	text, next, err2 := readLog(f, from, tailMax, !l.Live)
	if err1 != nil || err2 != nil {
		return pane{None: "The log cannot be read."}
	}
	if from > 0 { // begin with a whole line
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			text = text[i+1:]
		}
	}
	return pane{Text: string(text), Next: next, Cut: from > 0}
}

// readLog reads text of a log from an offset, and says where to go on. What was
// cut out (zero bytes) and what colours a terminal is left out; a character that
// is not written whole yet stays for the next time, unless this is the end.
func readLog(f io.ReadSeeker, from, limit int64, end bool) (text []byte, next int64, err error) {
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, from, err
	}
	text, err = io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, from, err
	}
	for cut := 1; cut < utf8.UTFMax && cut <= len(text) && (!end || int64(len(text)) == limit); cut++ {
		if tail := text[len(text)-cut:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				text = text[:len(text)-cut]
			}
			break
		}
	}
	next = from + int64(len(text))
	return follow.Plain(text), next, nil
}

// openLog opens a log of the run that a request is about, and reads ?from=. The log is nil
// when there is nothing yet. The answer's X-Log-Live reports whether there will be more.
func (s *server) openLog(
	w http.ResponseWriter, r *http.Request, stream work.Stream,
) (l follow.Execution, f io.ReadSeekCloser, from int64, err error) {
	if _, _, l, err = s.findRun(r); err != nil {
		return l, nil, 0, err
	}
	if s.Logs == nil {
		return l, nil, 0, notFound("Logs are not shown here.")
	}
	if from, err = access.Number(r, "from", 0, " must be a whole number.", 0, math.MaxInt64); err != nil {
		return l, nil, 0, err
	}
	w.Header().Set("X-Log-Live", strconv.FormatBool(l.Live))
	f, err = s.Logs.OpenLog(r.Context(), logName(l, stream))
	if errors.Is(err, fs.ErrNotExist) && l.Live {
		return l, nil, from, nil
	}
	if err != nil {
		err = notFound("Nothing was kept.")
	}
	return l, f, from, err
}

// log serves a log from an offset on: ?from=, ?errors=1 or ?hooks=1; X-Log-Next is where to go on.
func (s *server) log(w http.ResponseWriter, r *http.Request) {
	stream := work.StreamOutput
	if r.URL.Query().Get("errors") != "" {
		stream = work.StreamErrors
	} else if r.URL.Query().Get("hooks") != "" {
		stream = streamHooks
	}
	l, f, from, err := s.openLog(w, r, stream)
	if err != nil {
		s.plain(w, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if f == nil {
		h.Set("X-Log-Next", "0")
		return
	}
	defer f.Close()
	if r.URL.Query().Get("all") != "" {
		_, _ = io.Copy(w, f) // a reader that has gone away needs no more
		return
	}
	text, next, err := readLog(f, from, chunkMax, !l.Live)
	if err != nil {
		s.plain(w, err)
		return
	}
	h.Set("X-Log-Next", strconv.FormatInt(next, 10))
	_, _ = w.Write(text)
}

// ciLog serves the log of the newest CI that the service has run for a task, as it was
// printed.
func (s *server) ciLog(w http.ResponseWriter, r *http.Request) {
	t, err := s.taskOf(r)
	if err != nil {
		s.plain(w, err)
		return
	}
	if s.Logs == nil || t.State.CI.Job == 0 {
		s.plain(w, notFound("The service has run no CI of this task, or logs are not shown here."))
		return
	}
	f, err := s.Logs.OpenLog(r.Context(), orchestrator.CILog(t.ID, t.State.CI))
	if err != nil {
		s.plain(w, notFound("Nothing was kept."))
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.Copy(w, f) // a reader that has gone away needs no more
}

// plain answers with an error as text.
func (s *server) plain(w http.ResponseWriter, err error) {
	f := s.failureOf(err)
	http.Error(w, f.text, f.status)
}
