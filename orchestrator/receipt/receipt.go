// Package receipt says of a merged commit where it comes from: an in-toto statement (https://in-toto.io/Statement/v1)
// with the provenance of SLSA (https://slsa.dev/provenance/v1), made of what is stored of its task. The journal does not
// change behind the end of a task, so that it is the same each time. Package dssekey signs it.
package receipt

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Types of the statement and of its parts.
const (
	StatementType  = "https://in-toto.io/Statement/v1"
	provenanceType = "https://slsa.dev/provenance/v1"
	FieldsType     = "https://signalbox.dev/fields/v1"
	buildType      = "https://signalbox.dev/card/v1" // what Card and Judged hold
)

// Reasons why there is no receipt.
var (
	ErrUnmerged = errors.New("the task has merged nothing, so there is no receipt")
	ErrLive     = errors.New("the task has not ended, so there is no receipt yet")
)

// Statement is the statement about the commits that a task has merged.
type Statement[P any] struct {
	Type          string     `json:"_type"`
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     P          `json:"predicate"`
}

// Resource names something by its digest. Digests of commits are gitCommit.
type Resource struct {
	Name        string            `json:"name,omitempty"`
	Digest      map[string]string `json:"digest,omitempty"`
	Annotations *Run              `json:"annotations,omitempty"`
}

// Provenance is SLSA's predicate.
type Provenance struct {
	Definition Definition `json:"buildDefinition"`
	Details    Details    `json:"runDetails"`
}

// Definition says what the commit was made of.
type Definition struct {
	BuildType string     `json:"buildType"`
	External  Card       `json:"externalParameters"`
	Internal  Judged     `json:"internalParameters"`
	Resolved  []Resource `json:"resolvedDependencies"` // heads of the branch that were judged, the last one last
}

// Card holds what people wanted, and said.
type Card struct {
	Item    string      `json:"card"` // its key
	Tracker string      `json:"tracker_id"`
	Title   string      `json:"title"`
	Repo    string      `json:"repository"`
	Lane    string      `json:"lane,omitempty"`
	Words   []task.Word `json:"words"` // on which the service has acted
	Acts    []task.Act  `json:"acts,omitempty"`
}

// Judged holds what the service has gone by.
type Judged struct {
	Pull  string            `json:"pull_request,omitempty"`
	CI    *stage.CI         `json:"own_ci,omitempty"` // what the service has run itself
	Gates []task.GateResult `json:"gates"`
}

// Details says who made it, when, and by which runs.
type Details struct {
	Builder  Builder    `json:"builder"`
	Metadata Metadata   `json:"metadata"`
	Runs     []Resource `json:"byproducts"` // of agents: see Run
}

// Builder names the service.
type Builder struct {
	ID      string            `json:"id"` // its address
	Version map[string]string `json:"version,omitempty"`
}

// Metadata is when the task was in work.
type Metadata struct {
	Invocation string    `json:"invocationId"` // task.Identity
	Began      time.Time `json:"startedOn"`
	Ended      time.Time `json:"finishedOn"`
}

// Run describes an agent's attempt.
type Run struct {
	Stage    stage.Stage `json:"stage"`
	Role     stage.Role  `json:"role"`
	Agent    string      `json:"agent,omitempty"`
	Usage    work.Usage  `json:"usage"` // the model, tokens and millionths of a dollar
	Status   string      `json:"status"`
	Text     string      `json:"text_sha256_12,omitempty"` // of the card's text as the run read it, cut to 12 digits
	Prompt   string      `json:"prompt_sha256_12,omitempty"`
	Finished time.Time   `json:"finished_at"`
}

// Of makes the statement of a task; ErrLive or ErrUnmerged where there is none. builder is the service's address,
// version that of its program.
func Of(ctx context.Context, from task.Records, t task.Task, builder, version string) (s Statement[Provenance], err error) {
	if !t.State.Stage.Terminal() {
		return s, ErrLive
	}
	story, err1 := from.Journal(ctx, t.ID)
	judged, err2 := from.GateResults(ctx, t.ID)
	runs, err3 := from.AgentRuns(ctx, t.ID)
	if err = errors.Join(err1, err2, err3); err != nil {
		return s, err
	}
	s = Statement[Provenance]{Type: StatementType, PredicateType: provenanceType, Predicate: Provenance{
		Definition: Definition{BuildType: buildType, Internal: Judged{Pull: t.State.PRURL, Gates: gatesOf(judged)}, External: Card{
			Item: task.OriginalKey(t.WorkItemID), Tracker: task.OriginalKey(t.TrackerIssueID), Title: t.Title, Repo: t.Repo,
			Lane: t.State.Lane, Words: []task.Word{},
		}},
		Details: Details{
			Builder: Builder{ID: builder, Version: map[string]string{"signalbox": version}}, Runs: []Resource{},
			Metadata: Metadata{Invocation: task.Identity(t), Began: t.CreatedAt.UTC(), Ended: t.StageEnteredAt.UTC()},
		},
	}}
	d := &s.Predicate.Definition
	for _, e := range story {
		switch e.Kind {
		case task.KindWord:
			if w, ok := e.Word(); ok && w.Fate == task.FateActed {
				d.External.Words = append(d.External.Words, w)
			}
		case task.KindOperator:
			if a, err := e.Acted(); err == nil {
				d.External.Acts = append(d.External.Acts, a)
			}
		case task.KindDecision:
			r, err := e.Recorded()
			if err != nil {
				return s, err
			}
			if r.Event.CI != nil {
				d.Internal.CI = r.Event.CI
			}
			if r.Event.On == stage.OnMergeDone && r.Event.SHA != "" {
				s.Subject = append(s.Subject, Resource{Name: t.Repo, Digest: commit(r.Event.SHA)})
				d.Resolved = append(d.Resolved, Resource{Name: t.Branch, Digest: commit(r.Decision.State.Head)})
			}
		}
	}
	for _, r := range runs {
		s.Predicate.Details.Runs = append(s.Predicate.Details.Runs, Resource{Name: "run/" + strconv.FormatInt(r.Run, 10), Annotations: &Run{
			r.Stage, r.Role, r.Agent, r.Usage, r.Status, r.Text, r.Prompt, r.Finished.UTC(),
		}})
	}
	if len(s.Subject) == 0 {
		return s, ErrUnmerged
	}
	return s, nil
}

// gatesOf keeps the last verdict of each gate at each stage: the one that let the task go on.
func gatesOf(all []task.GateResult) []task.GateResult {
	type place struct {
		at    stage.Stage
		check string
	}
	last := map[place]int{}
	for i, g := range all {
		last[place{g.Stage, g.Verdict.Check}] = i
	}
	out := []task.GateResult{}
	for i, g := range all {
		if last[place{g.Stage, g.Verdict.Check}] == i && g.Verdict.Outcome == gates.Green {
			g.At = g.At.UTC()
			out = append(out, g)
		}
	}
	return out
}

func commit(sha string) map[string]string { return map[string]string{"gitCommit": sha} }

// Issued holds a receipt.
type Issued struct {
	Commits []string `json:"commits"` // that the task has merged, the last one last
	Bundle  string   `json:"bundle"`
	Public  string   `json:"public_key"` // PEM
}

// Commits are those that a statement is about, the last one last.
func (s Statement[P]) Commits() (out []string) {
	for _, r := range s.Subject {
		out = append(out, r.Digest["gitCommit"])
	}
	return out
}
