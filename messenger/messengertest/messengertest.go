// Package messengertest is the conformance suite of package messenger.
package messengertest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/messenger"
)

// Fixture is a messenger under test and the chat behind it.
type Fixture struct {
	Messenger messenger.Messenger
	// Shown lists the texts that the chat shows, without markup.
	Shown func() []string
	// Delete removes a message as a person would.
	Delete func(id string)
}

// Run runs the whole suite.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	hello := messenger.Message{Title: "APP-1: <b>Cache & tiles</b>", Lines: []string{"development → review", "a < b && c > d"}, Link: "https://example.org/?a=1&b=2"}
	t.Run("a message arrives as it was written", func(t *testing.T) {
		f := open(t)
		id, err := f.Messenger.Send(t.Context(), hello)
		require.NoError(t, err)
		require.NotEmpty(t, id)
		shown := f.Shown()
		require.Len(t, shown, 1)
		for _, part := range append(hello.Lines, hello.Title, hello.Link) {
			require.Contains(t, shown[0], part)
		}
	})
	t.Run("an edit replaces the message", func(t *testing.T) {
		f := open(t)
		id, err := f.Messenger.Send(t.Context(), hello)
		require.NoError(t, err)
		require.NoError(t, f.Messenger.Edit(t.Context(), id, messenger.Message{Title: "new"}))
		require.Len(t, f.Shown(), 1)
		require.Contains(t, f.Shown()[0], "new")
		require.NotContains(t, f.Shown()[0], "review")
	})
	t.Run("an edit that changes nothing is a success", func(t *testing.T) {
		f := open(t)
		id, err := f.Messenger.Send(t.Context(), hello)
		require.NoError(t, err)
		require.NoError(t, f.Messenger.Edit(t.Context(), id, hello))
		require.NoError(t, f.Messenger.Edit(t.Context(), id, hello))
	})
	t.Run("a removed message is gone", func(t *testing.T) {
		f := open(t)
		id, err := f.Messenger.Send(t.Context(), hello)
		require.NoError(t, err)
		f.Delete(id)
		require.ErrorIs(t, f.Messenger.Edit(t.Context(), id, messenger.Message{Title: "x"}), messenger.ErrGone)
		require.ErrorIs(t, f.Messenger.Edit(t.Context(), "987654", hello), messenger.ErrGone)
	})
	t.Run("a long message is taken", func(t *testing.T) {
		f := open(t)
		long := messenger.Message{Title: strings.Repeat("ж&", 3000), Lines: []string{strings.Repeat("🚦<", 5000), "end"}}
		_, err := f.Messenger.Send(t.Context(), long)
		require.NoError(t, err)
		require.Len(t, f.Shown(), 1)
	})
}
