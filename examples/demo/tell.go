package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/telegramtest"
)

// printEvents prints what happens on the board and in the chat.
func (w *world) printEvents(ctx context.Context, out io.Writer) {
	changes, comments, messages := 0, 0, 0
	names := map[string]string{}
	show := func(who, item, what string) {
		fmt.Fprintf(out, "%6.1fs  %-7s %-8s %s\n", time.Since(w.began).Seconds(), who, item, strings.ReplaceAll(what, "\n", " · "))
	}
	for pause(ctx, 50*time.Millisecond) {
		for _, i := range w.board.Items("") {
			names[i.ID] = fmt.Sprintf("%s-%d", w.board.Identifier(i.Project), i.Sequence)
		}
		for _, c := range w.board.Changes()[changes:] {
			who := "person"
			if c.Actor == bot {
				who = "service"
			}
			show(who, names[c.Item], c.From+" → "+c.To)
			changes++
		}
		for _, c := range w.board.Comments("")[comments:] {
			show("comment", names[c.Item], text(c.HTML))
			comments++
		}
		for _, m := range w.chat.Messages()[messages:] {
			show("chat", "", telegramtest.Plain(m.Text))
			messages++
		}
	}
}
