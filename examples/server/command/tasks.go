package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/signalbox-dev/signalbox/orchestrator/documents"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/follow"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// printer is the part of commands that print what a server answers.
type printer struct {
	client
	output
}

// read prints the answer of a request: as JSON, or as people prints it.
func read[T any](c printer, s *streams, method, path string, body any, people func(io.Writer, T)) error {
	var answer json.RawMessage
	if err := c.call(method, path, body, &answer); err != nil {
		return err
	}
	if c.JSON {
		_, err := fmt.Fprintf(s.out, "%s\n", answer)
		return err
	}
	var v T
	if err := json.Unmarshal(answer, &v); err != nil {
		return err
	}
	people(steady{s.out}, v)
	return nil
}

// fetch is read of a request that changes nothing.
func fetch[T any](c printer, s *streams, path string, people func(io.Writer, T)) error {
	return read(c, s, http.MethodGet, path, nil, people)
}

type tasksCmd struct {
	Repo  string `help:"Of this repository only."`
	Stage string `help:"At this stage only."`
	All   bool   `help:"Those that have ended too."`
	After int64  `help:"Those behind this id: the last of the page before."`
	printer
}

// Run lists tasks, a thousand at a time.
func (c tasksCmd) Run(s *streams) error {
	query := url.Values{
		"limit": {"1000"}, "live": {strconv.FormatBool(!c.All)}, "after": {strconv.FormatInt(c.After, 10)},
		"repo": {c.Repo}, "stage": {c.Stage},
	}
	return fetch(c.printer, s, "/tasks?"+query.Encode(), func(w io.Writer, list web.TaskList) {
		_ = table(w, "TASK\tITEM\tREPOSITORY\tSTAGE\tSTATE\tSINCE\tTITLE", func(row func(...any)) { // nobody can be told of errors of w
			for _, k := range list.Tasks {
				row(k.ID, task.OriginalKey(k.WorkItemID), k.Repo, k.Stage, state(k), moment(k.StageEnteredAt), oneLine(k.Title, 60))
			}
		})
		if list.Next != 0 {
			fmt.Fprintf(w, "there are more: --after %d\n", list.Next)
		}
	})
}

// state returns in a word what a task does at its stage.
func state(k web.TaskView) string {
	if k.Active != "" {
		return string(k.Active) + "'s turn"
	}
	return cmp.Or(string(k.Hold), string(k.Phase), "-")
}

// moment is a time for people; "-" for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// steady is a terminal that nothing of others steers, or turns the direction of.
type steady struct{ io.Writer }

// Write writes what is left of a text.
func (t steady) Write(text []byte) (int, error) {
	_, err := io.WriteString(t.Writer, follow.Clean(string(text), len(text)))
	return len(text), err
}

// oneLine is a text of others in one line.
func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

type showCmd struct {
	Task string `arg:"" help:"Task id, or work item id such as GPX-42."`
	Doc  string `xor:"what" placeholder:"NAME" help:"A document of the task's branch instead, such as requirements."`
	Diff bool   `xor:"what" help:"What the task's branch changes instead."`
	printer
}

// Run prints a task: where it stands, its runs, its last verdicts and its story; or what its branch has.
func (c showCmd) Run(s *streams) error {
	id, err := c.find(c.Task)
	if err != nil {
		return err
	}
	path, note := fmt.Sprintf("/tasks/%d", id), "%s at commit %s\n"
	switch {
	case c.Doc != "":
		return fetch(c.printer, s, path+"/documents/"+url.PathEscape(c.Doc), func(w io.Writer, d documents.Text) {
			fmt.Fprintf(s.err, note, d.Name, d.Commit)
			fmt.Fprint(w, d.Text, ending(d.Cut))
		})
	case c.Diff:
		return fetch(c.printer, s, path+"/diff", func(w io.Writer, d documents.Diff) {
			fmt.Fprintf(s.err, note, "since "+d.Main, d.Commit)
			for _, f := range d.Files {
				if f.Protected {
					fmt.Fprintln(w, "protected, a person has to see it:", oneLine(f.Path, 400))
				}
			}
			for _, f := range d.Files {
				fmt.Fprint(w, f.Text)
			}
			fmt.Fprint(w, ending(d.Cut))
		})
	}
	return fetch(c.printer, s, path, showTask)
}

// ending is behind a text whose end is left out.
func ending(cut bool) string {
	if cut {
		return "\n(cut: it is longer than what is shown)\n"
	}
	return ""
}

// storyMost is how many lines of a task's story are printed.
const storyMost = 20

func showTask(w io.Writer, k web.TaskDetail) {
	fmt.Fprintf(w, "%s (task %d, %s): %s\n", task.OriginalKey(k.WorkItemID), k.ID, k.Repo, oneLine(k.Title, 200))
	fmt.Fprintf(w, "  at %s since %s, %s", k.Stage, moment(k.StageEnteredAt), state(k.TaskView))
	if k.HoldReason != "" {
		fmt.Fprintf(w, ": %s", oneLine(k.HoldReason, 400))
	}
	fmt.Fprintf(w, "\n  branch %s, head %s\n", task.OriginalKey(k.Branch), cmp.Or(k.HeadSHA, "-"))
	if k.PullRequest != "" {
		fmt.Fprintf(w, "  %s\n", k.PullRequest)
	}
	fmt.Fprintf(w, "  %d runs, %s USD\n\n", len(k.Runs), price(k.Totals))
	_ = table(w, "RUN\tROLE\tMODEL\tRESULT\tTOOK\tUSD", func(row func(...any)) { // as in tasksCmd
		for _, r := range k.Runs {
			run, took := fmt.Sprintf("%d.%d", r.Run, r.Attempt), r.Finished.Sub(r.Started).Round(time.Second)
			row(run, r.Role, cmp.Or(r.Model, "-"), r.Status, took, price(r.Totals))
		}
		row("")
		for _, e := range k.Journal[max(0, len(k.Journal)-storyMost):] {
			row(moment(e.At), cmp.Or(e.On, e.Kind), e.Stage, oneLine(strings.Join(e.Notes, "; "), 160))
		}
	})
}

type queueCmd struct{ printer }

// Run prints what is under way and what waits, in the order in which it will be taken.
func (c queueCmd) Run(s *streams) error {
	return fetch(c.printer, s, "/queue", func(w io.Writer, v explain.QueueView) {
		fmt.Fprintf(w, "agents at work: %d of %d\n", v.Workers.Running, v.Workers.MaxConcurrency)
		_ = table(w, "JOB\tTASK\tPOOL\tKIND\tSTATUS\tWAITS FOR", func(row func(...any)) { // as in tasksCmd
			for _, j := range append(v.Jobs, v.Effects...) {
				var why []string
				for _, reason := range j.Waits {
					why = append(why, reason.Text)
				}
				row(j.ID, j.TaskID, j.Pool, cmp.Or(j.Role, j.Kind), j.Status, oneLine(strings.Join(why, "; "), 120))
			}
			for _, f := range v.Failed {
				row(f.JobID, f.TaskID, f.Lane, f.Kind, "given up", oneLine(f.Error, 120))
			}
		})
		for _, l := range v.Lanes {
			if l.Sick != nil {
				fmt.Fprintf(w, "%s does not answer; %d owed\n", l.Lane, l.Owed)
			}
		}
	})
}

// orderCmd is a command by whose name the server is to do something to tasks, one after the other.
type orderCmd struct {
	Tasks []string `arg:"" name:"task" help:"Task ids, or work item ids such as GPX-42."`
	printer
}

// Run has the server do it; it needs the right operator. What is refused of one task keeps none of the others back; the
// error is that of the first, and names it when there were others.
func (c orderCmd) Run(s *streams, k *kong.Context) (first error) {
	what := k.Selected().Name
	for _, name := range c.Tasks {
		id, key, err := c.item(name)
		if err == nil {
			err = read(c.printer, s, http.MethodPost, fmt.Sprintf("/tasks/%d/%s", id, what), nil, func(w io.Writer, out web.Queued) {
				fmt.Fprintf(w, "%s of %s: %s\n", what, key, out.Status)
			})
		}
		if err != nil && len(c.Tasks) > 1 {
			err = fmt.Errorf("%s of %s: %w", what, cmp.Or(key, name), err)
		}
		if first == nil {
			first = err
		} else if err != nil {
			fmt.Fprintln(s.err, "signalbox:", err)
		}
	}
	return first
}
