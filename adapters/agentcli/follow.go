package agentcli

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/agentcli/agentout"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// follower reads what an execution prints while it lives: for its steps, and for what stops it.
// Nothing that goes wrong here ends the execution: its result is read from the log as well.
type follower struct {
	r         *Runner
	e         execution
	reader    *agentout.Reader
	log, errs *os.File       // opened at the beginning: the shim cuts them by giving their names to new files
	steps     io.WriteCloser // nil: they cannot be kept
	at        int64          // what was read of log
	printed   [2]int64       // sizes of log and errs
	last      time.Time      // when they have changed
	seen      Seen           // by its links
	refused   int            // hosts of these that were noted
	shown     work.Usage     // in the last step that has one
	unpriced  bool           // it was noted that its cost is not known
	repeated  struct {
		turns int64  // calls of the run when its checkout was looked at; 0: it does not repeat itself
		tree  uint64 // the checkout then
	}
}

func (r *Runner) follow(e execution) (*follower, error) {
	f := &follower{r: r, e: e, reader: agentout.NewReader(e.preset.Format), last: r.opt.Now()}
	f.reader.Dir, f.reader.Hide = e.Dir, r.opt.Hidden.Text
	var err error
	if f.log, err = os.Open(e.log); err != nil {
		return nil, err
	}
	if f.errs, err = os.Open(errLog(e.log)); err != nil {
		_ = f.log.Close() // it was read only
		return nil, err
	}
	if f.steps, err = r.keep(stepsLog(e.log)); err != nil {
		r.opt.Log.Warn("the steps of a run cannot be kept", "task", e.TaskID, "err", err)
		f.steps = nil
	}
	return f, nil
}

// look reads what is new, and returns why the execution is to be stopped, if it is.
func (f *follower) look() (kind, why string) {
	f.read()
	now := f.r.opt.Now()
	if sizes := [2]int64{sizeOf(f.log), sizeOf(f.errs)}; sizes != f.printed {
		f.printed, f.last = sizes, now
	}
	usage, limit := f.r.counted(f.e, f.reader.Usage(), f.seen), f.e.Agent.MicroUSD
	cost := usage.MicroUSD
	switch {
	case f.seen.Kind != "":
		return f.seen.Kind, f.seen.Why
	case f.reader.Hopeless():
		return work.ResultFailed, "stopped: it tries again what cannot succeed"
	case limit > 0 && cost >= limit && !f.reader.Ended() && !f.seen.priced(): // what is done is not lost
		return work.ResultBudget, overBudget(cost, limit)
	case f.isStuck():
		why := fmt.Sprintf("stopped: %s; nothing in its checkout has changed meanwhile; the run has used %d tokens so far",
			f.reader.Repeats().Words, usage.Tokens())
		if cost > 0 {
			why += ", which cost " + usd(cost) + " USD"
		}
		return work.ResultStuck, why
	case now.Sub(f.last) >= patience && !f.reader.Worked() && agentout.Waits(f.e.preset.Format, tail(errLog(f.e.log), errsMax)):
		return work.ResultFailed, "stopped: it waits for its vendor"
	case now.Sub(f.last) >= f.e.Agent.Stall:
		return work.ResultStalled, fmt.Sprintf("stopped: it printed nothing for %s", f.e.Agent.Stall)
	}
	return "", ""
}

// stuckTurns are the calls between two looks at the checkout of an agent that repeats itself.
const stuckTurns = 4

// isStuck reports whether the agent does the same again and again, and its checkout stays as it is.
func (f *follower) isStuck() bool {
	r, mark := f.reader.Repeats(), &f.repeated
	switch {
	case r.Words == "" || f.reader.Ended():
		mark.turns = 0
	case mark.turns == 0:
		mark.turns, mark.tree = r.Turns, treeOf(f.e.Dir)
	case r.Sure && r.Turns >= mark.turns+stuckTurns:
		before := mark.tree
		mark.turns, mark.tree = r.Turns, treeOf(f.e.Dir)
		return mark.tree == before
	}
	return false
}

// treeOf is a hash of the names, sizes and times of the files of a checkout, as far as they can be read.
func treeOf(dir string) uint64 {
	h, left := fnv.New64a(), treeMax
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, _ error) error { // what cannot be read does not change
		if left--; left < 0 || d == nil {
			return fs.SkipAll
		}
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if info, err := d.Info(); err == nil && !d.IsDir() {
			fmt.Fprintf(h, "%s\x00%d %d\n", name, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return h.Sum64()
}

// treeMax bounds the files that are looked at.
const treeMax = 500_000

// patience is how long a tool may say nothing after it has said that it cannot work.
const patience = time.Minute

func overBudget(cost, limit int64) string {
	return fmt.Sprintf("stopped: it has cost %s USD, and its limit is %s USD", usd(cost), usd(limit))
}

// piece is how much of a log is read at once.
const piece = 64 << 10

// read takes the new part of the log. Of one that grows faster than it is read the middle is
// left out, as it is in what is kept of it.
func (f *follower) read() {
	f.seen = f.e.look()
	for _, r := range f.seen.Refused[min(f.refused, len(f.seen.Refused)):] { // each host once, when it is new
		r.Times, f.refused = 1, f.refused+1
		f.note("refused: " + r.String())
	}
	if f.seen.Usage != nil {
		told := f.reader.Usage()
		f.write(work.Step{Kind: work.StepUsage, Usage: &told})
	}
	size := sizeOf(f.log)
	if size < f.at || size-f.at > 2*f.r.opt.LogMax {
		f.at = max(0, size-f.r.opt.LogMax)
		_, _ = f.reader.Write([]byte("\n")) // it never fails
	}
	for f.at < size {
		n, err := io.CopyN(f.reader, io.NewSectionReader(f.log, f.at, size-f.at), min(piece, size-f.at))
		f.at += n
		f.write(f.reader.Steps()...)
		if err != nil {
			return // the next look tries again
		}
	}
}

// write keeps steps.
func (f *follower) write(steps ...work.Step) {
	for _, s := range steps {
		s.At = f.r.opt.Now().UTC()
		if s.Usage != nil {
			u := f.r.counted(f.e, *s.Usage, f.seen)
			if u == f.shown {
				continue
			}
			f.shown, s.Usage = u, &u
			if f.e.Agent.MicroUSD > 0 && u.MicroUSD == 0 && f.e.preset.BudgetFlag == "" && !f.unpriced {
				f.unpriced = true
				f.note("what " + u.Model + " costs is not known: the limit of " + usd(f.e.Agent.MicroUSD) + " USD cannot end this run")
			}
		}
		line, err := json.Marshal(s)
		if err == nil && f.steps != nil {
			_, _ = f.steps.Write(append(line, '\n')) // it never fails
		}
	}
}

func (f *follower) note(text string) { f.write(work.Step{Kind: work.StepNote, Text: text}) }

// end reads the rest, and adds what is to be said of the end.
func (f *follower) end(out ending) ending {
	f.read()
	out.printed, out.found = f.reader.Close()
	out.worked, out.done = f.reader.Worked(), f.reader.Ended() && !out.printed.Failed
	f.write(f.reader.Steps()...)
	if out.why != "" {
		f.note(out.why)
	}
	if !out.found && out.exit == 0 && out.printed.Summary != "" {
		f.note("the output of " + f.e.preset.Argv[0] + " has not the form that was expected: " +
			"what it printed is taken for its words, and its cost is not known")
	}
	_, _ = f.log.Close(), f.errs.Close() // they were read only
	if f.steps != nil {
		if err := f.steps.Close(); err != nil {
			f.r.opt.Log.Warn("the steps of a run cannot be kept", "task", f.e.TaskID, "err", err)
		}
	}
	return out
}

func sizeOf(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}
