package app

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Backtest holds what another policy would have made of cards.
type Backtest struct {
	Since    time.Time             `json:"since"`
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

// Backtest decides the cards that began at a moment or later by the settings of this service.
func (v *Service) Backtest(ctx context.Context, since time.Time) (Backtest, error) {
	cards, err := admin.Backtest(ctx, v.Engine, since)
	out := Backtest{Since: since, Cards: cards, Outcomes: map[admin.Outcome]int{}, Note: backtestNote}
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
func (b Backtest) Print(w io.Writer) {
	for _, p := range b.Cards {
		if p.Outcome != admin.OutcomeSame {
			what := change(string(p.Outcome), p.By, p.Runs, p.MicroUSD)
			fmt.Fprintf(w, "%s (task %d, %s): %s\n  %s\n", p.WorkItem, p.TaskID, p.Repo, what, p.Why)
		}
		for _, text := range p.Assumed {
			fmt.Fprintf(w, "  assumed: %s\n", text)
		}
		for _, text := range p.Unknown {
			fmt.Fprintf(w, "  not known: %s\n", text)
		}
	}
	fmt.Fprintf(w, "%d cards since %s: %d the same", len(b.Cards), b.Since.UTC().Format(time.DateOnly), b.Outcomes[admin.OutcomeSame])
	for _, o := range []admin.Outcome{admin.OutcomeLater, admin.OutcomeSooner, admin.OutcomeWaits, admin.OutcomeOther, admin.OutcomeOpen} {
		if n := b.Outcomes[o]; n > 0 {
			fmt.Fprintf(w, ", %d %s", n, o)
		}
	}
	fmt.Fprintf(w, "; %s\n%s\n", change("together", b.By, b.Runs, b.MicroUSD), b.Note)
}

// change words what is otherwise.
func change(what string, by time.Duration, runs int, microUSD int64) string {
	out := []string{what}
	if by != 0 {
		out[0] += " by " + by.Abs().Round(time.Minute).String()
		if what == "together" && by < 0 {
			out[0] = "together sooner by " + by.Abs().Round(time.Minute).String()
		}
	}
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
