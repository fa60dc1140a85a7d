package board_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// A person makes a card and moves it; the engine reads it as it reads a tracker's.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "board")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	b, err := board.Open(ctx, board.Options{Path: filepath.Join(dir, "signalbox.db"), Page: "http://localhost:8080/dashboard/board/cards"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	person := cards.Person{Name: "Kim", Proof: stage.ProofNone}
	card, _, err := b.Make(ctx, cards.New{Key: "form-1", Project: "gpx", Title: "Cache the tiles", By: person})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := b.Move(ctx, card.ID, string(stage.StatusToAnalyse), person); err != nil {
		fmt.Println(err)
		return
	}
	item, err := b.Item(ctx, "gpx", card.ID)
	fmt.Println(item.Title, "is at", item.StatusName, err)
	// Output: Cache the tiles is at To Analyse <nil>
}
