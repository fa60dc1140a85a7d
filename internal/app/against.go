package app

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Against holds how journals would have been decided by other settings, or another registry or pipeline.
type Against struct {
	Tasks     []ComparedTask      `json:"tasks"` // that differ, or that are not known as a whole
	Journals  int                 `json:"journals"`
	Decisions int                 `json:"decisions"`
	Causes    map[admin.Cause]int `json:"causes"`  // decisions by each
	Unknown   map[string]int      `json:"unknown"` // decisions that cannot be made again, by what is lacking
}

// ComparedTask is one task of an Against.
type ComparedTask struct {
	WorkItem string `json:"work_item"`
	Repo     string `json:"repo"`
	admin.Comparison
}

// Other returns these settings with some set otherwise, as NAME=VALUE with or without ORCH_, and with another registry
// and pipeline; empty = the present ones. Another registry brings the pipeline that is beside it.
func (s Settings) Other(set []string, registry, pipeline string) (Settings, error) {
	if registry != "" {
		set = append(slices.Clone(set), Prefix+"PROJECTS="+registry)
	}
	environ := slices.Clone(s.from.environ)
	for _, pair := range set {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return s, fmt.Errorf("--set: %q is no NAME=VALUE such as MERGE_GATE_REPOS=*", pair)
		}
		name = Prefix + strings.TrimPrefix(strings.ToUpper(name), Prefix)
		environ = slices.DeleteFunc(environ, func(old string) bool { return strings.HasPrefix(old, name+"=") })
		environ = append(environ, name+"="+value)
	}
	other, err := load(environ, s.further)
	other.stages = pipeline
	return other, err
}

// Against decides the journals again of every task, or of those with an id or a work item, by the settings of this
// service, and tells where a decision is another one. all tells of delays and chats too.
func (v *Service) Against(ctx context.Context, taskID string, all bool) (Against, error) {
	out := Against{Tasks: []ComparedTask{}, Causes: map[admin.Cause]int{}, Unknown: map[string]int{}}
	err := v.eachJournal(ctx, taskID, func(t task.Task) (int, error) {
		c, err := admin.Compare(ctx, v.Engine, t.ID, all)
		out.Journals, out.Decisions = out.Journals+1, out.Decisions+c.Decisions
		if c.Broken != "" {
			out.Unknown[c.Broken]++
		}
		for _, d := range c.Differ {
			for _, cause := range d.Causes {
				out.Causes[cause]++
			}
		}
		for _, u := range c.Unknown {
			for _, lack := range u.Lacks {
				out.Unknown[lack]++
			}
		}
		if len(c.Differ)+len(c.Unknown)+len(c.Broken) > 0 {
			out.Tasks = append(out.Tasks, ComparedTask{t.WorkItemID, t.Repo, c})
		}
		return c.Decisions + len(c.Broken), err
	})
	return out, err
}

// Print writes each decision that differs, with its causes, and what cannot be known.
func (a Against) Print(w io.Writer) error {
	for _, t := range a.Tasks {
		if len(t.Differ) > 0 {
			fmt.Fprintf(w, "%s (task %d, %s): %d of %d decisions differ\n", t.WorkItem, t.TaskID, t.Repo, len(t.Differ), t.Decisions)
		}
		for _, d := range t.Differ {
			var causes []string
			for _, c := range d.Causes {
				causes = append(causes, string(c))
			}
			fmt.Fprintf(w, "  entry %d, %s at %s: %s\n    recorded: %s\n    now:      %s\n",
				d.EntryID, d.On, d.At.UTC().Format(time.RFC3339), strings.Join(causes, ", "), d.Recorded, d.Now)
		}
	}
	fmt.Fprintf(w, "%d journals with %d decisions.", a.Journals, a.Decisions)
	for _, c := range admin.Causes() {
		if n := a.Causes[c]; n > 0 {
			fmt.Fprintf(w, " %s: %d.", c, n)
		}
	}
	if len(a.Causes) == 0 {
		fmt.Fprint(w, " None differs.")
	}
	fmt.Fprintln(w)
	for _, lack := range slices.Sorted(maps.Keys(a.Unknown)) {
		fmt.Fprintf(w, "not known in %d decisions: %s\n", a.Unknown[lack], lack)
	}
	return nil
}
