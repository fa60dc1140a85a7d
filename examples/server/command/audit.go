package command

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/orchestrator/features/retention"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// auditCmd reads the journal in the server's database, while it runs or not.
type auditCmd struct {
	Verify auditVerifyCmd `cmd:"" help:"Look whether the journal is as it was written; the exit code is 1 when it is not."`
	Export auditExportCmd `cmd:"" help:"Print the journal with its hashes, a JSON object in each line."`
}

type auditVerifyCmd struct {
	Head string `help:"Hash of an entry that was noted before; it has to be in the journal still."`
	output
}

// audited holds what verify prints as JSON.
type audited struct {
	Entries int      `json:"entries"`
	Before  int      `json:"before_the_chain"`
	Head    string   `json:"head"`
	Broken  []string `json:"broken"`
}

// Run verifies the chain.
func (c auditVerifyCmd) Run(s *streams) error {
	return inStore(func(ctx context.Context, db app.Database) error {
		a, err := task.Verify(ctx, db)
		if err != nil {
			return err
		}
		if c.Head != "" {
			found := false
			err := eachLink(ctx, db, func(l task.Link) error { found = found || hex.EncodeToString(l.Hash) == c.Head; return nil })
			if err != nil {
				return err
			}
			if !found {
				a.Broken = append(a.Broken, "the head that was noted is not in the journal: it was made anew since")
			}
		}
		verified := audited{a.Entries, a.Before, hex.EncodeToString(a.Head), append([]string{}, a.Broken...)}
		err = c.print(s.out, verified, func(w io.Writer) error {
			for _, wrong := range a.Broken {
				fmt.Fprintln(w, wrong)
			}
			_, err := fmt.Fprintf(w, "entries: %d, from before the chain: %d, head: %s\n", a.Entries, a.Before, verified.Head)
			return err
		})
		if err == nil && len(a.Broken) > 0 {
			err = fmt.Errorf("the journal is not as it was written: %d faults", len(a.Broken))
		}
		return err
	})
}

// eachLink reads the whole chain.
func eachLink(ctx context.Context, c task.Chain, f func(task.Link) error) error {
	for after := int64(0); ; {
		page, err := c.Links(ctx, after, 500)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, l := range page {
			if err := f(l); err != nil {
				return err
			}
			after = l.Entry.ID
		}
	}
}

// exported is one line of an export.
type exported struct {
	ID      int64           `json:"id"`
	Task    int64           `json:"task_id"`
	Seq     int64           `json:"seq"`
	At      time.Time       `json:"at"`
	Kind    string          `json:"kind"`
	Payload json.RawMessage `json:"payload"`
	Prev    string          `json:"prev"`
	Hash    string          `json:"hash"`
}

type auditExportCmd struct{ output }

// Run prints the journal.
func (auditExportCmd) Run(s *streams) error {
	return inStore(func(ctx context.Context, db app.Database) error {
		out := json.NewEncoder(s.out)
		return eachLink(ctx, db, func(l task.Link) error {
			e := l.Entry
			payload := json.RawMessage(e.Payload)
			if !json.Valid(payload) { // somebody has changed it
				payload, _ = json.Marshal(string(e.Payload))
			}
			prev, hash := hex.EncodeToString(l.Prev), hex.EncodeToString(l.Hash)
			return out.Encode(exported{e.ID, e.TaskID, e.Seq, e.At, e.Kind, payload, prev, hash})
		})
	})
}

type securityCmd struct {
	output
}

// Run makes the attacks, on a process that hides its secrets as the server does. It fails
// when one has succeeded.
func (c securityCmd) Run(s *streams) error {
	if err := s.hide(); err != nil {
		return err
	}
	settings, err := load(s.kinds...)
	if err != nil {
		return err
	}
	report, err := app.Security(context.Background(), settings, itself())
	if err != nil {
		return err
	}
	err = c.print(s.out, report, report.Write)
	if report.Succeeded > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d attacks succeeded, or nothing would stop them", report.Succeeded, len(report.Attacks)))
	}
	return err
}

type attackCmd struct {
	Name string `arg:""`
}

// Run makes one attack.
func (c attackCmd) Run(s *streams) error {
	return endedError(app.MakeAttack(c.Name, s.out))
}

// replayCmd decides journals again.
type replayCmd struct {
	Task    *string `help:"Only this task: an id, or a work item such as GPX-42." placeholder:"ID|WORK-ITEM"`
	Against bool    `help:"Tell what another policy would have decided: who is wanted, what a gate says, what comes later or is run again."`
	All     bool    `help:"Tell of delays and chats too, for --against."`
	policyFlags
	output
}

// policyFlags name another policy than the one in force.
type policyFlags struct {
	Set      []string `help:"A setting of the other policy as NAME=VALUE; may be repeated." placeholder:"NAME=VALUE" sep:"none"`
	Registry string   `help:"Its registry, with the pipeline.yaml beside it." placeholder:"FILE" type:"path"`
	Pipeline string   `help:"Its pipeline." placeholder:"FILE" type:"path"`
}

// open opens the service with the other policy, beside a server.
func (p policyFlags) open(ctx context.Context, s *streams) (*app.Service, error) {
	settings, err := readSettings(s.kinds)
	if err == nil && p.differs() {
		settings, err = settings.Other(p.Set, p.Registry, p.Pipeline)
	}
	if err == nil {
		err = settings.NeedsDatabase()
	}
	if err != nil {
		return nil, err
	}
	return app.Open(ctx, settings, itself(), settings.Logger(io.Discard))
}

// String names the policy by what differs from the one in force.
func (p policyFlags) String() string {
	return strings.TrimSpace(strings.Join(append(slices.Clone(p.Set), p.Registry, p.Pipeline), " "))
}

func (p policyFlags) differs() bool { return p.String() != "" }

// backtestCmd tells what another policy would have made of the cards of a while.
type backtestCmd struct {
	Since retention.Span `help:"How long ago the first cards began, such as 30d." default:"30d"`
	HTML  bool           `name:"html" help:"Print a page, to save and show."`
	policyFlags
	output
}

// Run changes nothing, and may run beside the server.
func (c backtestCmd) Run(s *streams) error {
	ctx := context.Background()
	service, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	defer service.Close()
	out, err := service.Backtest(ctx, time.Now().Add(-time.Duration(c.Since)), cmp.Or(c.String(), "the policy in force"))
	if err != nil {
		return err
	}
	if c.HTML {
		return out.Page(s.out)
	}
	return c.print(s.out, out, out.Print)
}

// Run decides every journal again. It changes nothing, and may run beside the server.
func (c replayCmd) Run(s *streams) error {
	task := ""
	if c.Task != nil {
		if task = strings.TrimSpace(*c.Task); task == "" {
			return errors.New("--task: is empty, want an id such as 7 or a work item such as GPX-42")
		}
	}
	if (c.differs() || c.All) && !c.Against {
		return &exitError{exitUsage, errors.New("--set, --registry, --pipeline and --all go with --against")}
	}
	ctx := context.Background()
	service, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	defer service.Close()
	if c.Against {
		return c.compare(ctx, s, service, task)
	}
	again, err := service.Replay(ctx, task)
	if err != nil {
		return err
	}
	err = c.print(s.out, again, again.Print)
	if err == nil && again.Differing > 0 {
		err = fmt.Errorf("%d of %d journals are decided otherwise now", again.Differing, len(again.Tasks))
	}
	return err
}

// compare tells what another policy decides otherwise.
func (c replayCmd) compare(ctx context.Context, s *streams, service *app.Service, task string) error {
	against, err := service.Against(ctx, task, c.All)
	if err == nil {
		err = c.print(s.out, against, against.Print)
	}
	switch {
	case err != nil:
		return err
	case len(against.Causes) > 0:
		return endedError(exitDiffers)
	case len(against.Unknown) > 0:
		return endedError(exitUnknown)
	}
	return nil
}
