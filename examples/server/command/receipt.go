package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/dssekey"
	"github.com/signalbox-dev/signalbox/orchestrator/receipt"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// notesRef is where receipts stand in a repository: refs/notes/signalbox.
const notesRef = "--ref=signalbox"

type receiptCmd struct {
	printer
	Task string `arg:"" help:"Task id, or work item id such as GPX-42, of a task that has merged and ended."`
	Note bool   `xor:"what,json" help:"Keep it here as a git note of each commit; push refs/notes/signalbox to share it."`
	Key  bool   `xor:"what" help:"Print the public key alone, by which it is verified."`
}

// Run prints the receipt of what a task has merged.
func (c receiptCmd) Run(s *streams) error {
	id, err := c.find(c.Task)
	if err != nil {
		return err
	}
	var got receipt.Issued
	if err := c.get(fmt.Sprintf("/tasks/%d/receipt", id), &got); err != nil {
		return err
	}
	return c.print(s.out, got, func(w io.Writer) error {
		switch {
		case c.Key:
			_, err = fmt.Fprint(w, got.Public)
		case !c.Note:
			_, err = fmt.Fprint(w, got.Bundle)
		default:
			for _, sha := range got.Commits {
				if _, err := gitHere(got.Bundle, "notes", notesRef, "add", "-f", "-F", "-", sha); err != nil {
					return err
				}
				fmt.Fprintf(w, "noted at %s\n", sha)
			}
		}
		return err
	})
}

// gitHere runs git in this folder's repository.
func gitHere(in string, args ...string) (string, error) {
	cmd := exec.CommandContext(context.Background(), "git", args...)
	var wrong bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(in), &wrong
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(wrong.String()))
	}
	return string(out), nil
}

type verifyCmd struct {
	output
	Commit string `arg:"" help:"A commit of the repository here, in full without one."`
	Key    string `required:"" type:"existingfile" help:"File with the service's public key: signalbox receipt GPX-42 --key."`
	File   string `type:"existingfile" help:"The receipt; default: the commit's note in refs/notes/signalbox."`
}

// Run verifies a receipt without any server.
func (c verifyCmd) Run(s *streams) error {
	key, err := os.ReadFile(c.Key)
	if err != nil {
		return err
	}
	sha := c.Commit
	var bundle []byte
	if full, err := gitHere("", "rev-parse", "--verify", "--quiet", "--end-of-options", sha+"^{commit}"); err == nil {
		sha = strings.TrimSpace(full)
	}
	if c.File != "" {
		bundle, err = os.ReadFile(c.File)
	} else {
		var text string
		text, err = gitHere("", "notes", notesRef, "show", sha)
		bundle = []byte(text)
	}
	if err != nil {
		return fmt.Errorf("the receipt of %s cannot be read: %w", sha, err)
	}
	got, err := dssekey.Verify(context.Background(), string(key), bundle)
	var touched *dssekey.TouchedError
	if errors.As(err, &touched) {
		return errors.Join(c.print(s.out, touched, func(w io.Writer) error {
			for _, at := range touched.Fields {
				fmt.Fprintln(w, "touched: "+at)
			}
			return nil
		}), err)
	}
	if err != nil {
		return err
	}
	if about := got.Commits(); !slices.Contains(about, sha) {
		return fmt.Errorf("the receipt is as it was signed, and about %s: not about %s", strings.Join(about, ", "), sha)
	}
	return c.print(s.out, got, func(w io.Writer) error {
		d := got.Predicate.Definition
		fmt.Fprintf(w, "%s of %s comes from %s: %s\n", sha, d.External.Repo, d.External.Item, oneLine(d.External.Title, 200))
		for _, said := range d.External.Words {
			fmt.Fprintf(w, "  %s\n", oneLine(said.String(), 200))
		}
		for _, g := range d.Internal.Gates {
			fmt.Fprintf(w, "  %s: %s\n", strings.TrimSpace(string(g.Stage)+" "+g.Verdict.Check), oneLine(g.Verdict.Reason, 200))
		}
		var cost task.Cost
		for _, r := range got.Predicate.Details.Runs {
			cost.Add(task.CostOf(task.AgentRun{Usage: r.Annotations.Usage}))
		}
		_, err := fmt.Fprintf(w, "  %d runs of agents, %s; by %s\n", cost.Runs, cost.Price(), got.Predicate.Details.Builder.ID)
		return err
	})
}
