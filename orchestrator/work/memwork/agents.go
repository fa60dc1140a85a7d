package memwork

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Good is the script of an agent that does what its role is for, and succeeds: it writes the
// documents, a change of the code, or a good report on the commit that the command names. The
// texts name the run, and each run costs Usage.
func Good(_ context.Context, c work.Command, files map[string]string) work.Result {
	words := fmt.Sprintf("run %d", c.Run)
	good, _, judges := strings.Cut(c.Env["SIGNALBOX_VERDICTS"], " ")
	switch {
	case judges:
		files[work.ReportPath] = gates.FormatReport(good, c.Env["SIGNALBOX_SHA"], "looked at it, "+words)
	case c.Role == stage.Developer:
		files["src/"+c.WorkItem+".go"] = "package x // " + words
	default:
		for name := range strings.FieldsSeq(c.Env["SIGNALBOX_DOCUMENTS"]) {
			files[c.Env["SIGNALBOX_DOCS"]+"/"+name] = words
		}
	}
	return work.Result{Kind: work.ResultOK, Usage: Usage(), Summary: "fine"}
}

// Usage returns what every run of Good has used; its cost is 1500 millionths of a dollar.
func Usage() work.Usage {
	return work.Usage{Model: "m", Input: 10, Output: 20, CacheRead: 300, CacheCreate: 40, MicroUSD: 1500}
}

// Run implements work.Agents.
func (p *Place) Run(ctx context.Context, c work.Command) work.Result {
	p.mu.Lock()
	script := p.script
	p.runs = append(p.runs, c)
	files := maps.Clone(p.commits[p.checkout[c.Dir]].files)
	delete(p.outbox, runOf(c))
	var beside []string
	for _, f := range p.space[c.Dir].Beside {
		if _, taken := files[f.Path]; !taken && files != nil {
			files[f.Path], beside = string(f.Body), append(beside, f.Path)
		}
	}
	p.mu.Unlock()
	begun := p.Now()
	if files == nil { // a STOP has removed it since it was opened
		return work.Result{Kind: work.ResultFailed, Reason: "its checkout is gone", StartedAt: begun, FinishedAt: begun}
	}
	res := script(ctx, c, files)
	res.StartedAt, res.FinishedAt = begun, p.Now()
	if ctx.Err() != nil && res.Kind != work.ResultOK {
		res.Kind = work.ResultCancelled
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range beside {
		delete(files, name)
	}
	if report, ok := files[work.ReportPath]; ok {
		delete(files, work.ReportPath)
		p.outbox[runOf(c)] = report
	}
	switch head := p.checkout[c.Dir]; {
	case maps.Equal(files, p.commits[head].files):
	case res.Kind == work.ResultOK:
		p.checkout[c.Dir] = p.commit(head, files)
	default:
		p.left[c.Dir] = files
	}
	return res
}

func runOf(c work.Command) string { return fmt.Sprintf("%d/%d", c.TaskID, c.Run) }

// Report implements work.Agents.
func (p *Place) Report(_ context.Context, c work.Command) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	report, ok := p.outbox[runOf(c)]
	if !ok {
		return "", fmt.Errorf("memwork: the report of run %s: %w", runOf(c), fs.ErrNotExist)
	}
	return report, nil
}

// Quiesce implements work.Agents: nothing outlives an agent here.
func (p *Place) Quiesce(context.Context, int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quiesced++
	return nil
}

// Identify implements work.Identifier: the vendor is that of Vendors.
func (p *Place) Identify(a work.Agent) (name, vendor string) {
	name = cmp.Or(a.Use, "script")
	return name, p.Vendors[name]
}
