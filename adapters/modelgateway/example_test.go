package modelgateway_test

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/modelgateway"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

func Example() {
	g, err := modelgateway.New(modelgateway.Options{
		Vendors: map[string]modelgateway.Vendor{modelgateway.Anthropic: {Key: secret.New("sk-ant-…")}},
		Prices:  map[string]agentcli.Price{"claude-sonnet-4-5": {Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheCreate: 3_750_000}},
	})
	if err == nil {
		err = g.Listen(context.Background(), "127.0.0.1:0")
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = g.Close() }()
	o, err := g.Open(context.Background(), agentcli.LinkedRun{Tool: "claude", Vendor: modelgateway.Anthropic}) // as a Runner does, with Options.Links
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(o.Env["ANTHROPIC_BASE_URL"] == g.URL()+"/anthropic", len(o.Env["ANTHROPIC_AUTH_TOKEN"]))
	fmt.Println(o.Close().Usage == nil)
	// Output:
	// true 26
	// true
}
