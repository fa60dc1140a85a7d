// Package messengertest is the conformance suite of package messenger.
package messengertest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
)

// Fixture is a messenger under test and the chat behind it.
type Fixture struct {
	Messenger messenger.Messenger
	// Shown lists the texts that the chat shows, without markup.
	Shown func() []string
	// Delete removes a message as a person would.
	Delete func(id string)
	// Of a messenger.Listener: Labels are the choices that a message shows, Press makes one of them and Write writes a
	// reply to the newest question; Told lists what people were told beside messages. Listen is that of the Listener, where
	// it needs help to be reached.
	Labels func(message string) []string
	Press  func(by messenger.Account, message, label string)
	Write  func(by messenger.Account, text string)
	Told   func() []string
	Listen func(ctx context.Context, take func(context.Context, messenger.Act) error)
	// Fail makes one call of the port, called as its method, fail from now on.
	Fail func(call string, how faulttest.Kind)
}

// hello has everything that markup could spoil.
func hello() messenger.Message {
	return messenger.Message{
		Title: "APP-1: <b>Cache & tiles</b>",
		Lines: []string{"development → review", "a < b && c > d"},
		Link:  "https://example.org/?a=1&b=2",
	}
}

// Run runs the whole suite; open makes a fixture with an empty chat.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Fixture){
		"a message arrives as it was written":      arrives,
		"an edit replaces the message":             edits,
		"an edit that changes nothing is accepted": editsNothing,
		"a removed message is gone":                gone,
		"a long message is taken":                  long,
		"an empty message is taken":                empty,
		"messages are sent side by side":           together,
		"an ended context sends nothing":           ended,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
	for name, test := range map[string]func(*testing.T, *listening){
		"a message shows its choices, and an edit others": choices,
		"a choice is an act of whoever makes it":          chosen,
		"an act comes until it is taken, and once":        untaken,
		"a question is answered by a text":                asked,
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			if l, ok := f.Messenger.(messenger.Listener); ok {
				test(t, listen(t, f, l))
			}
		})
	}
	for call, trial := range map[string]func(*testing.T, Fixture) faulttest.Trial{"Send": sending, "Edit": editing} {
		t.Run(call+" fails, and nothing else", func(t *testing.T) {
			faulttest.Run(t, func(t *testing.T) faulttest.Trial {
				f := open(t)
				x := trial(t, f)
				x.Fail = func(k faulttest.Kind) { f.Fail(call, k) }
				return x
			})
		})
	}
}

func (f Fixture) sent(t *testing.T) (id string) {
	t.Helper()
	id, err := f.Messenger.Send(t.Context(), hello())
	require.NoError(t, err)
	return id
}

// sending is of a call without an identity: it is seen as often as it is made.
func sending(t *testing.T, f Fixture) faulttest.Trial {
	id := f.sent(t)
	return faulttest.Trial{
		Call: func(ctx context.Context) error {
			_, err := f.Messenger.Send(ctx, messenger.Message{Title: "new"})
			return err
		},
		Others: func() { require.NoError(t, f.Messenger.Edit(t.Context(), id, messenger.Message{Title: "edited"})) },
		Done:   func() int { return strings.Count(strings.Join(f.Shown(), "\n"), "new") },
	}
}

func editing(t *testing.T, f Fixture) faulttest.Trial {
	id := f.sent(t)
	return faulttest.Trial{
		Call: func(ctx context.Context) error { return f.Messenger.Edit(ctx, id, messenger.Message{Title: "new"}) },
		Others: func() {
			_, err := f.Messenger.Send(t.Context(), messenger.Message{Title: "other"})
			require.NoError(t, err)
		},
		Done:    func() int { return strings.Count(strings.Join(f.Shown(), "\n"), "new") },
		Repeats: true,
	}
}

func arrives(t *testing.T, f Fixture) {
	m := hello()
	id, err := f.Messenger.Send(t.Context(), m)
	require.NoError(t, err)
	require.NotEmpty(t, id)
	shown := f.Shown()
	require.Len(t, shown, 1)
	for _, part := range append([]string{m.Title, m.Link}, m.Lines...) {
		require.Contains(t, shown[0], part)
	}
}

func edits(t *testing.T, f Fixture) {
	other, err := f.Messenger.Send(t.Context(), messenger.Message{Title: "other"})
	require.NoError(t, err)
	id := f.sent(t)
	require.NotEqual(t, other, id)
	require.NoError(t, f.Messenger.Edit(t.Context(), id, messenger.Message{Title: "new"}))
	shown := f.Shown()
	require.Len(t, shown, 2)
	require.Contains(t, shown[0], "other")
	require.Contains(t, shown[1], "new")
	require.NotContains(t, shown[1], "review")
}

func editsNothing(t *testing.T, f Fixture) {
	id := f.sent(t)
	for range 2 {
		require.NoError(t, f.Messenger.Edit(t.Context(), id, hello()))
	}
	quiet := hello()
	quiet.Silent = true
	require.NoError(t, f.Messenger.Edit(t.Context(), id, quiet))
	require.Len(t, f.Shown(), 1)
}

func gone(t *testing.T, f Fixture) {
	id := f.sent(t)
	f.Delete(id)
	require.ErrorIs(t, f.Messenger.Edit(t.Context(), id, messenger.Message{Title: "x"}), messenger.ErrGone)
	require.ErrorIs(t, f.Messenger.Edit(t.Context(), "987654", hello()), messenger.ErrGone)
	require.ErrorIs(t, f.Messenger.Edit(t.Context(), "never an id", hello()), messenger.ErrGone)
	require.Empty(t, f.Shown(), "an edit never sends")
}

func long(t *testing.T, f Fixture) {
	m := messenger.Message{
		Title: "APP-1 " + strings.Repeat("ж&", 3000),
		Lines: []string{strings.Repeat("🚦<", 5000), "end"},
		Link:  "https://example.org/x",
	}
	_, err := f.Messenger.Send(t.Context(), m)
	require.NoError(t, err)
	require.Len(t, f.Shown(), 1)
	require.Contains(t, f.Shown()[0], "APP-1 ж&")
	require.Contains(t, f.Shown()[0], "https://example.org/x", "what is cut is not the link")
}

func empty(t *testing.T, f Fixture) {
	id, err := f.Messenger.Send(t.Context(), messenger.Message{})
	require.NoError(t, err)
	require.NoError(t, f.Messenger.Edit(t.Context(), id, messenger.Message{Lines: []string{"", " "}}))
	require.Len(t, f.Shown(), 1)
}

func together(t *testing.T, f Fixture) {
	const n = 16
	ids := make([]string, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			ids[i], errs[i] = f.Messenger.Send(t.Context(), messenger.Message{Title: strconv.Itoa(i)})
			if errs[i] == nil {
				errs[i] = f.Messenger.Edit(t.Context(), ids[i], messenger.Message{Title: "edit of " + strconv.Itoa(i)})
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	slices.Sort(ids)
	require.Len(t, slices.Compact(ids), n, "every message has an id of its own")
	shown := strings.Join(f.Shown(), "\n")
	for i := range n {
		require.Contains(t, shown, "edit of "+strconv.Itoa(i))
	}
}

func ended(t *testing.T, f Fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.Messenger.Send(ctx, hello())
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, f.Shown())
}
