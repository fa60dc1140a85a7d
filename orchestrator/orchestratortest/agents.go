package orchestratortest

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// GoodAgent is memwork.Good, which needs a second here.
func GoodAgent(ctx context.Context, c work.Command, files map[string]string) work.Result {
	time.Sleep(time.Second)
	return memwork.Good(ctx, c, files)
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
