package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/documents"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

type reviewCmd struct {
	decision
	Task    string `arg:"" optional:"" help:"Task id, or work item id such as GPX-42; without one the line of what waits for a word."`
	Diff    bool   `help:"The text of the diff as well: what has changed since the last verdict, else all."`
	Approve bool   `xor:"word" help:"Approve what is shown."`
	Reject  bool   `xor:"word" help:"Reject what is shown; --why is needed."`
	Confirm bool   `xor:"word" help:"Confirm the deployment of what is shown."`
}

// Validate refuses a word about no task.
func (c reviewCmd) Validate() error {
	if said := c.Approve || c.Reject || c.Confirm; said && c.Task == "" {
		return errors.New("name the task that the word is about")
	} else if said && c.JSON {
		return errors.New("--json goes without a word: approve, reject and confirm take it")
	}
	return nil
}

// Run prints what a person decides a task by, and says the word that is given: of the commit shown.
func (c reviewCmd) Run(s *streams) error {
	if c.Task == "" {
		return fetch(c.printer, s, "/decisions", printLine)
	}
	id, err := c.find(c.Task)
	if err != nil {
		return err
	}
	var shown documents.Decision
	err = fetch(c.printer, s, fmt.Sprintf("/tasks/%d/decision", id), func(w io.Writer, d documents.Decision) {
		shown = d
		c.show(w, d)
	})
	c.Commit = cmp.Or(c.Commit, shown.Commit)
	for verb, said := range map[string]bool{"approve": c.Approve, "reject": c.Reject, "confirm": c.Confirm} {
		if said && err == nil {
			err = c.decide(s, c.Task, verb)
		}
	}
	return err
}

func printLine(w io.Writer, list web.DecisionList) {
	_ = table(w, "ITEM\tREPOSITORY\tSTAGE\tWAITS SINCE\tASKED", func(row func(...any)) { // as in tasksCmd
		for _, d := range list.Decisions {
			row(d.Item, d.Repo, cmp.Or(d.Stage, "-"), moment(d.Waits), oneLine(d.Asked, 100))
		}
	})
}

// show prints a decision: the sentence first, and what may be said last.
func (c reviewCmd) show(w io.Writer, d documents.Decision) {
	fmt.Fprintf(w, "%s (task %d, %s): %s\n", d.Item, d.TaskID, d.Repo, oneLine(d.Title, 200))
	price := stage.Price(int64(d.CostUSD*1e6+0.5), d.Unpriced)
	fmt.Fprintf(w, "  at %s since %s; cost so far %s\n  %s\n", d.Stage, moment(d.Waits), price, d.Asked)
	fmt.Fprintf(w, "\ncommit %s\n", d.Commit)
	if d.Unread != "" {
		fmt.Fprintln(w, "  "+d.Unread)
	}
	for _, k := range d.Documents {
		fmt.Fprintf(w, "  read: signalbox show %s --doc %s\n", d.Item, k.Name)
	}
	shown := d.Diff
	if seen := d.Seen; seen != nil {
		fmt.Fprintf(w, "last verdict: %s by %s on %.12s\n", seen.Word, oneLine(seen.By, 60), seen.Commit)
		if d.Since != nil {
			shown = d.Since
			listFiles(w, "changed since", d.Since)
		}
	}
	if d.Diff != nil {
		listFiles(w, "changed since "+d.Diff.Main, d.Diff)
	}
	for _, v := range d.Evidence {
		printVerdict(w, v, "  ")
	}
	if d.CI != "" {
		fmt.Fprintf(w, "  CI: %s\n", d.CI)
	}
	for _, r := range d.Reports {
		fmt.Fprintf(w, "  %s (run %d): %s\n", r.Role, r.Run, oneLine(r.Text, 200))
	}
	if c.Diff && shown != nil {
		fmt.Fprintln(w)
		for _, f := range shown.Files {
			fmt.Fprint(w, f.Text)
		}
		fmt.Fprint(w, ending(shown.Cut))
	}
	fmt.Fprintln(w)
	for _, word := range d.Words {
		if verb := verbs[word]; verb != "" {
			fmt.Fprintf(w, "say: signalbox review %s --%s --commit %s\n", d.Item, verb, d.Commit)
		}
	}
	if d.Do != "" {
		fmt.Fprintf(w, "do: %s\n", d.Do)
	}
	if d.Next != nil {
		fmt.Fprintf(w, "next: %s %s\n", d.Next.Item, oneLine(d.Next.Title, 100))
	}
}

// verbs are the flags of words.
var verbs = map[stage.Status]string{
	stage.StatusApproved: "approve", stage.StatusRejected: "reject --why '…'", stage.StatusConfirmDeploy: "confirm",
}

// listFiles lists the files of a diff, the protected ones first.
func listFiles(w io.Writer, title string, d *documents.Diff) {
	fmt.Fprintf(w, "%s (%.12s): %d files%s\n", title, d.Base, len(d.Files), map[bool]string{true: ", more are left out"}[d.Cut])
	files := slices.Clone(d.Files)
	rank := map[bool]int{true: -1}
	slices.SortStableFunc(files, func(a, b documents.File) int { return rank[a.Protected] - rank[b.Protected] })
	for _, f := range files {
		added, removed := f.Lines()
		mark := map[bool]string{true: "  protected: a person has to see it"}[f.Protected]
		fmt.Fprintf(w, "  %s +%d -%d%s\n", oneLine(f.Path, 200), added, removed, mark)
	}
}

func printVerdict(w io.Writer, v gates.Verdict, indent string) {
	fmt.Fprintf(w, "%s%s %s: %s\n", indent, v.Outcome, v.Check, oneLine(v.Reason, 200))
	for _, e := range v.Evidence {
		ok := map[bool]string{true: "ok", false: "not ok"}[e.OK]
		fmt.Fprintf(w, "%s  %s %s\n", indent, ok, oneLine(e.String(), 300))
	}
	for _, child := range v.Children {
		printVerdict(w, child, indent+"  ")
	}
}
