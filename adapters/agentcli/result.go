package agentcli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/signalbox-dev/signalbox/adapters/agentcli/agentout"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// ending is how the processes of a run ended.
type ending struct {
	exit    int    // of the agent; -1 when there is none
	stopped string // kind of the result when we stopped it
	why     string // in words
	missing string // that the program is not there

	printed agentout.Output
	found   bool // it has a result
	worked  bool // a model has said or done something
	done    bool // it has said that it has done its work
}

// toResult makes the result of what the agent left behind. What it says itself
// comes before its exit code. Escaped in an odd way, a secret may have stayed in the log.
func (r *Runner) toResult(e execution, end ending, seen Seen) work.Result {
	switch {
	case end.done && end.stopped != "" && end.stopped != work.ResultCancelled: // what is done is not lost
		end.stopped, end.exit = "", 0
	case end.stopped == "" && (!end.done || end.exit != 0): // the tool was faster
		end.stopped, end.why = seen.Kind, seen.Why
	}
	printed, found := end.printed, end.found
	if !found { // what was followed may have holes
		body, err := os.ReadFile(e.log)
		if err != nil {
			return r.broken(fmt.Errorf("agentcli: %w", err))
		}
		if again, ok := agentout.Parse(e.preset.Format, body); ok {
			printed, found = again, ok
		}
	}
	errs := tail(errLog(e.log), errsMax)
	if !found && end.exit != 0 { // gemini prints an error's object there
		if elsewhere, ok := agentout.Parse(e.preset.Format, []byte(errs)); ok && elsewhere.Failed {
			printed, found = elsewhere, ok
		}
	}
	res := work.Result{
		Kind: work.ResultOK, ExitCode: end.exit, LogPath: e.log, Usage: r.counted(e, printed.Usage, seen), Vendor: e.vendor(),
		SessionID: r.clean(printed.Session, sessionMax), Summary: r.clean(printed.Summary, summaryMax), Refused: seen.Refused,
	}
	if seen.Usage != nil {
		res.Measured = &work.Measured{Told: r.priced(e, printed.Usage), Estimated: seen.Estimated}
	}
	// Of a run that was cut off, tokens without a price: it counts as one that says nothing, at its estimate.
	if !found && res.Usage.MicroUSD == 0 {
		res.Usage = work.Usage{Model: res.Usage.Model}
	}
	last := cmp.Or(printed.Reason, errs[max(0, len(errs)-reasonMax):])
	switch limit := e.Agent.MicroUSD; {
	case end.stopped != "":
		res.Kind, res.Reason = end.stopped, end.why
		if last != "" && end.stopped != work.ResultCancelled {
			res.Reason += lastWords + last
		}
	case end.missing != "":
		res.Kind, res.Reason = work.ResultFailed, end.missing+"; install it for the service's user, or name another agent"
		res.Trouble.Kind = work.TroubleMissing
	case found && printed.Budget && limit > 0:
		res.Kind, res.Reason = work.ResultBudget, overBudget(res.Usage.MicroUSD, limit)+": "+printed.Reason
	case found && printed.Failed:
		res.Kind, res.Reason = work.ResultFailed, cmp.Or(printed.Reason, "the agent reported an error")
	case end.exit != 0:
		res.Kind, res.Reason = work.ResultFailed, exitText(end.exit)+": "+cmp.Or(last, "no error output")
	case !found && printed.Summary == "": // words in another form than expected are taken for its last ones
		res.Kind, res.Reason = work.ResultUnusable, "the agent ended without a result that can be read"
	}
	silent := slices.Contains([]string{work.ResultTimeout, work.ResultStalled, work.ResultFailed}, end.stopped) && !end.worked
	switch {
	case silent: // what it waited for all the time
		var line string
		if res.Trouble, line = printed.Diagnose(e.preset.Format, found, 1, errs, r.opt.Now()); line != "" {
			res.Reason = end.why + lastWords + line
		}
	case res.Kind != work.ResultFailed || res.Trouble.Kind != "":
	case end.stopped != "":
		res.Trouble = printed.Trouble
	default:
		var line string
		if res.Trouble, line = printed.Diagnose(e.preset.Format, found, end.exit, errs, r.opt.Now()); line != "" && !found {
			res.Reason = exitText(end.exit) + ": " + line
		}
	}
	if t := seen.Trouble; t.Kind != "" && res.Kind == work.ResultFailed && (res.Trouble.Kind == "" || res.Trouble.Until.IsZero()) {
		res.Trouble = t // the link has it from the vendor
	}
	res.Reason = r.clean(res.Reason, reasonMax)
	return res
}

// clean is a text for people, without secrets and escape sequences.
func (r *Runner) clean(s string, n int) string {
	return agentout.Clip(r.opt.Hidden.Text(agentout.Plain(s)), n)
}

// priced is a usage with its model and what it costs.
func (r *Runner) priced(e execution, u work.Usage) work.Usage {
	u = clamp(u)
	u.Model = r.clean(cmp.Or(u.Model, agentout.ShortModel(e.model())), sessionMax)
	if u.MicroUSD == 0 {
		price, _ := PriceOf(r.opt.Prices, u.Model, e.name)
		u.MicroUSD = price.Cost(u)
	}
	return u
}

const lastWords = "; the tool's last words: "

// exitText names an exit code and, as shells count, the signal in it.
func exitText(code int) string {
	switch {
	case code < 0:
		return "the agent's supervisor was killed"
	case code > signalled && code < signalled+65:
		return fmt.Sprintf("exit code %d (signal: %s)", code, syscall.Signal(code-signalled))
	default:
		return fmt.Sprintf("exit code %d", code)
	}
}

// Bounds of what is taken over from an agent's output, in bytes.
const (
	summaryMax = 4000
	reasonMax  = 1000
	sessionMax = 200
	errsMax    = 16 << 10 // of standard error
)

// signalled precedes the exit codes of signals.
const signalled = 128

// tail reads the end of a file, as much as n bytes.
func tail(name string, n int64) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > n {
		_, _ = f.Seek(-n, io.SeekEnd) // on failure the start is better than nothing
	}
	body, _ := io.ReadAll(io.LimitReader(f, n)) // what could be read is what is shown
	return strings.TrimSpace(string(body))
}

// tokensMax is more than any run can use; larger counts are nonsense.
const tokensMax = 1e12

// clamp keeps counts that an agent made up from spoiling sums.
func clamp(u work.Usage) work.Usage {
	for _, n := range []*int64{&u.Input, &u.Output, &u.CacheRead, &u.CacheCreate} {
		*n = min(max(*n, 0), tokensMax)
	}
	return u
}
