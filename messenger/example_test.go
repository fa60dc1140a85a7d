package messenger_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/messenger/memmessenger"
)

// A message that shows a state is edited in place, and sent anew when it is gone.
func Example() {
	ctx, chat := context.Background(), memmessenger.New()
	show := func(id, line string) string {
		m := messenger.Message{Title: "APP-1", Lines: []string{line}, Silent: true}
		if err := chat.Edit(ctx, id, m); !errors.Is(err, messenger.ErrGone) {
			return id
		}
		id, _ = chat.Send(ctx, m)
		return id
	}
	id := show("", "analysis")
	id = show(id, "architecture")
	chat.Delete(id)
	fmt.Println(show(id, "development"), len(chat.Messages()))
	// Output: 2 1
}
