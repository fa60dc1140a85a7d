package app

import (
	"context"
	_ "embed" // for backtest.html
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Backtest holds what another policy would have made of cards.
type Backtest struct {
	Since    time.Time             `json:"since"`
	Policy   string                `json:"policy"`
	Cards    []admin.Prediction    `json:"cards"`
	Outcomes map[admin.Outcome]int `json:"outcomes"`
	By       time.Duration         `json:"by"`        // of all that end, later or sooner, in nanoseconds
	Runs     int                   `json:"runs"`      // more, or fewer
	MicroUSD int64                 `json:"micro_usd"` // that they cost
	Note     string                `json:"note"`
}

// backtestNote says what a backtest is made of.
const backtestNote = "A card goes on from its first decision that is another one, with the waits, words, verdicts, durations " +
	"and costs that are recorded; what never happened is assumed as said. " +
	"Cards that are the same keep their history, also where others would be in their way."

// Backtest decides the cards that began at a moment or later by the settings of this service, a policy in words.
func (v *Service) Backtest(ctx context.Context, since time.Time, policy string) (Backtest, error) {
	cards, err := admin.Backtest(ctx, v.Engine, since)
	out := Backtest{Since: since, Policy: policy, Cards: cards, Outcomes: map[admin.Outcome]int{}, Note: backtestNote}
	for _, p := range cards {
		out.Outcomes[p.Outcome]++
		out.By, out.Runs, out.MicroUSD = out.By+p.By, out.Runs+p.Runs, out.MicroUSD+p.MicroUSD
	}
	if err == nil && len(cards) == 0 {
		err = fmt.Errorf("no card has begun since %s in %s", since.UTC().Format(time.RFC3339), v.Settings.Database())
	}
	return out, err
}

// Print writes the cards that are not the same, and totals.
func (b Backtest) Print(w io.Writer) error {
	for _, p := range b.Cards {
		if p.Outcome != admin.OutcomeSame {
			fmt.Fprintf(w, "%s (task %d, %s): %s\n  %s\n", p.WorkItem, p.TaskID, p.Repo, changeOf(p), p.Why)
		}
		for _, text := range told(p) {
			fmt.Fprintf(w, "  %s\n", text)
		}
	}
	fmt.Fprintf(w, "%d cards since %s: %d the same", len(b.Cards), b.Since.UTC().Format(time.DateOnly), b.Outcomes[admin.OutcomeSame])
	for _, o := range outcomes()[1:] {
		if n := b.Outcomes[o]; n > 0 {
			fmt.Fprintf(w, ", %d %s", n, o)
		}
	}
	_, err := fmt.Fprintf(w, "; %s\n%s\n", b.together(), b.Note)
	return err
}

// outcomes are those of cards in the order in which they are told.
func outcomes() []admin.Outcome {
	return []admin.Outcome{
		admin.OutcomeSame, admin.OutcomeLater, admin.OutcomeSooner, admin.OutcomeWaits, admin.OutcomeOther, admin.OutcomeOpen,
	}
}

//go:embed backtest.html
var backtestPage string

// Page writes the same as an HTML document that needs nothing beside itself.
func (b Backtest) Page(w io.Writer) error {
	texts := template.FuncMap{"change": changeOf, "told": told, "outcomes": outcomes, "together": b.together}
	return template.Must(template.New("backtest").Funcs(texts).Parse(backtestPage)).Execute(w, b)
}

// together words what is otherwise over all.
func (b Backtest) together() string {
	what := "together no later"
	if b.By > 0 {
		what = "together later"
	}
	if b.By < 0 {
		what = "together sooner"
	}
	return change(what, b.By, b.Runs, b.MicroUSD)
}

func changeOf(p admin.Prediction) string { return change(string(p.Outcome), p.By, p.Runs, p.MicroUSD) }

// told are the assumptions of a prediction, and what the journal lacks for it.
func told(p admin.Prediction) (out []string) {
	for _, text := range p.Assumed {
		out = append(out, "assumed: "+text)
	}
	for _, text := range p.Unknown {
		out = append(out, "not known: "+text)
	}
	return out
}

// change words what is otherwise.
func change(what string, by time.Duration, runs int, microUSD int64) string {
	if by = by.Round(time.Minute); by != 0 {
		what += " by " + strings.TrimSuffix(by.Abs().String(), "0s")
	}
	out := []string{what}
	if runs != 0 {
		out = append(out, fmt.Sprintf("%+d runs", runs))
	}
	switch {
	case microUSD > 0:
		out = append(out, "+"+stage.Dollars(microUSD))
	case microUSD < 0:
		out = append(out, "-"+stage.Dollars(-microUSD))
	}
	return strings.Join(out, ", ")
}
