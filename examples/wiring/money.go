package wiring

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// dollars is an amount in millionths of a dollar.
type dollars int64

var amount = regexp.MustCompile(`^([0-9]{1,9})(?:\.([0-9]{1,6}))?$`)

// UnmarshalText reads a decimal amount such as 12.50. No binary fraction is
// involved.
func (d *dollars) UnmarshalText(text []byte) error {
	part := amount.FindSubmatch(text)
	if part == nil {
		return fmt.Errorf("%q, want an amount in dollars such as 12.50", text)
	}
	n, err := strconv.ParseInt(string(part[1])+(string(part[2]) + "000000")[:6], 10, 64)
	*d = dollars(n)
	return err
}

// prices are those of models, and of agents that name no model.
type prices map[string]agentcli.Price

// UnmarshalText reads model=input/output/cache read/cache write.
func (p *prices) UnmarshalText(text []byte) error {
	*p = prices{}
	for one := range strings.SplitSeq(string(text), ",") {
		model, list, _ := strings.Cut(strings.TrimSpace(one), "=")
		parts := strings.Split(list, "/")
		var d [4]dollars
		wrong := model == "" || len(parts) != len(d)
		for i := 0; !wrong && i < len(d); i++ {
			wrong = d[i].UnmarshalText([]byte(parts[i])) != nil
		}
		if wrong {
			return fmt.Errorf("%q, want model=input/output/cache read/cache write in dollars for a million tokens, such as gpt-5=1.25/10/0.125/0, or an agent's name for all that it uses, such as codex=1.25/10/0.125/0", one)
		}
		(*p)[model] = agentcli.Price{Input: int64(d[0]), Output: int64(d[1]), CacheRead: int64(d[2]), CacheCreate: int64(d[3])}
	}
	return nil
}

// priceOf is what a run costs that reported no cost of its own.
func (s Settings) priceOf(r task.AgentRun) (microUSD int64, known bool) {
	p, known := agentcli.PriceOf(s.AgentPrices, r.Usage.Model, r.Agent)
	return p.Cost(r.Usage), known
}

func (s Settings) budgetOn() bool { return s.BudgetTask > 0 || s.BudgetRepoDay > 0 }
