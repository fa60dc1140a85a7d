package app

import (
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// prices are those of models, and of agents that name no model.
type prices map[string]agentcli.Price

// UnmarshalText reads model=input/output/cache read/cache write.
func (p *prices) UnmarshalText(text []byte) error {
	*p = prices{}
	for one := range strings.SplitSeq(string(text), ",") {
		model, list, _ := strings.Cut(strings.TrimSpace(one), "=")
		parts := strings.Split(list, "/")
		var d [4]work.Dollars
		wrong := model == "" || len(parts) != len(d)
		for i := 0; !wrong && i < len(d); i++ {
			wrong = d[i].UnmarshalText([]byte(parts[i])) != nil
		}
		if wrong {
			return fmt.Errorf("%q, want model=input/output/cache read/cache write in dollars for a million tokens, "+
				"such as gpt-5=1.25/10/0.125/0, or an agent's name for all that it uses, such as codex=1.25/10/0.125/0", one)
		}
		(*p)[model] = agentcli.Price{Input: int64(d[0]), Output: int64(d[1]), CacheRead: int64(d[2]), CacheCreate: int64(d[3])}
	}
	return nil
}

// priceOf computes the cost of a run that reported none of its own.
func (s Settings) priceOf(r task.AgentRun) (microUSD int64, known bool) {
	p, known := agentcli.PriceOf(s.AgentPrices, r.Usage.Model, r.Agent)
	return p.Cost(r.Usage), known
}
