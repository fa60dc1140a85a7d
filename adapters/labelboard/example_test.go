package labelboard_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// An issue moves from column to column: it has one label of the board's at a time.
func Example() {
	host := forgetest.NewGitHub(forgetest.Options{})
	defer host.Close()
	srv := httptest.NewServer(host)
	defer srv.Close()
	issues := host.Issues()
	issues.AddLabel("acme/shop", "bug")
	issues.Open("acme/shop", "kim", "Cache tiles", "They are slow.")
	_ = issues.Label("acme/shop", 1, "kim", "bug")

	ctx := context.Background()
	client, err := github.New(github.Options{BaseURL: srv.URL, Token: "of the service's own account"})
	if err != nil {
		fmt.Println(err)
		return
	}
	board, err := labelboard.New(labelboard.Options{Issues: client.Issues(), Insecure: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, status := range []stage.Status{stage.StatusToAnalyse, stage.StatusAnalysis} {
		if err := board.AddColumn(ctx, "acme/shop", status); err != nil {
			fmt.Println(err)
		}
		if err := board.SetStatus(ctx, "acme/shop", board.ItemID("acme/shop", 1), status); err != nil {
			fmt.Println(err)
		}
	}
	item, err := board.Item(ctx, "acme/shop", board.ItemID("acme/shop", 1))
	fmt.Println(item.StatusName, err)
	for _, l := range issues.Issue("acme/shop", 1).Labels {
		fmt.Println(l.Name)
	}
	// Output:
	// Analysis <nil>
	// status/Analysis
	// bug
}
