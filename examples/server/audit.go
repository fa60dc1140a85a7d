package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/signalbox-dev/signalbox/internal/app"
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
		if err != nil {
			return err
		}
		if len(a.Broken) > 0 {
			return fmt.Errorf("the journal is not as it was written: %d faults", len(a.Broken))
		}
		return nil
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
