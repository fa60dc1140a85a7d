package cards_test

import (
	"errors"
	"fmt"

	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// What a person has typed is tidied, or refused with a sentence that a page can show.
func Example() {
	name, _ := cards.CleanName("  Kim \t Lee ")
	column, _ := cards.ColumnOf("to analyse")
	fmt.Printf("%s moves a card to %s (%s)\n", name, column.Name, column.Key)
	_, err := cards.CleanName("signalbox/analyst")
	var wrong *cards.InputError
	fmt.Println(errors.As(err, &wrong), err)
	// Output:
	// Kim Lee moves a card to To Analyse (to_analyse)
	// true A name has no slash and no invisible characters.
}
