package orchestratortest

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// Usage is what every run of GoodAgent has used; its cost is 1500 millionths of a dollar.
func Usage() work.Usage {
	return work.Usage{Model: "m", Input: 10, Output: 20, CacheRead: 300, CacheCreate: 40, MicroUSD: 1500}
}

// GoodAgent is the script of an agent that needs a second for what its role is for, and
// succeeds.
func GoodAgent(_ context.Context, c work.Command, files map[string]string) work.Result {
	time.Sleep(time.Second)
	memwork.Diligent(c, files)
	return work.Result{Kind: work.ResultOK, Usage: Usage(), Summary: "fine"}
}

// Instead is GoodAgent, but for one role, whose script is another.
func Instead(role stage.Role, script memwork.Script) memwork.Script {
	return func(ctx context.Context, c work.Command, files map[string]string) work.Result {
		if c.Role == role {
			return script(ctx, c, files)
		}
		return GoodAgent(ctx, c, files)
	}
}

// Hang is the script of an agent that works until it is ended.
func Hang(ctx context.Context, _ work.Command, _ map[string]string) work.Result {
	<-ctx.Done()
	return work.Result{Kind: work.ResultCancelled}
}
