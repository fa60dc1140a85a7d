package planetest_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/internal/planetest"
)

// A board with one card, moved by a person.
func Example() {
	board := planetest.New(planetest.Options{})
	defer board.Close()
	p := board.AddProject("GPX", planetest.StandardStates()...)
	id, err := board.AddItem(p, "Cache tiles", "<p>They are slow.</p>")
	if err == nil {
		err = board.Move(id, "To Analyse")
	}
	for _, c := range board.Changes() {
		fmt.Println(c.From, "→", c.To, err)
	}
	fmt.Printf("%s\n", planetest.Encode(map[string]string{"n": "Привет"}))
	// Output:
	// Backlog → To Analyse <nil>
	// {"n": "\u041f\u0440\u0438\u0432\u0435\u0442"}
}
