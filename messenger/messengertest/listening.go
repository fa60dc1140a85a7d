package messengertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/messenger"
)

// listening is a listener under test, and the acts that it has given.
type listening struct {
	Fixture
	to messenger.Listener

	mu     sync.Mutex
	acts   []messenger.Act
	refuse int // so many acts are not taken
}

func listen(t *testing.T, f Fixture, to messenger.Listener) *listening {
	l := &listening{Fixture: f, to: to}
	if l.Listen == nil {
		l.Listen = to.Listen
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { l.Listen(ctx, l.take) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return l
}

func (l *listening) take(_ context.Context, a messenger.Act) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acts = append(l.acts, a)
	if l.refuse > 0 {
		l.refuse--
		return errors.New("not yet")
	}
	return nil
}

// heard waits for so many acts.
func (l *listening) heard(t *testing.T, n int) []messenger.Act {
	t.Helper()
	var list []messenger.Act
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		list = slices.Clone(l.acts)
		return len(list) >= n
	}, 10*time.Second, 5*time.Millisecond)
	require.Len(t, list, n)
	return list
}

// ann is in the chat.
func ann() messenger.Account { return messenger.Account{ID: "12345", Name: "Ann <b> & Lee"} }

func (l *listening) sent(t *testing.T) (id string) {
	t.Helper()
	id, err := l.to.Send(t.Context(), decision())
	require.NoError(t, err)
	return id
}

func decision() messenger.Message {
	m := hello()
	m.Choices = []messenger.Choice{
		{ID: "approve.1.0123456789abcdef", Label: "Approve"},
		{ID: "reject.9223372036854775807.0123456789abcdef", Label: "Reject"},
	}
	return m
}

func choices(t *testing.T, l *listening) {
	id := l.sent(t)
	require.Equal(t, []string{"Approve", "Reject"}, l.Labels(id))
	m := decision()
	m.Choices = m.Choices[1:]
	require.NoError(t, l.to.Edit(t.Context(), id, m))
	require.Equal(t, []string{"Reject"}, l.Labels(id))
	require.NoError(t, l.to.Edit(t.Context(), id, hello()))
	require.Empty(t, l.Labels(id))
}

func chosen(t *testing.T, l *listening) {
	other := l.sent(t)
	id := l.sent(t)
	l.Press(ann(), id, "Reject")
	a := l.heard(t, 1)[0]
	require.NotEmpty(t, a.ID)
	require.Equal(t, ann(), a.By)
	require.Equal(t, []string{id, decision().Choices[1].ID, ""}, []string{a.Message, a.Choice, a.Text})
	require.NoError(t, l.to.Answer(t.Context(), a, messenger.Answer{Text: "it is not for you"}))
	require.Len(t, l.Labels(id), 2)
	l.Press(ann(), id, "Approve")
	b := l.heard(t, 2)[1]
	require.NotEqual(t, a.ID, b.ID)
	for range 2 { // the second is too late, and harmless
		require.NoError(t, l.to.Answer(t.Context(), b, messenger.Answer{Text: "it is taken", Done: true}))
	}
	require.Empty(t, l.Labels(id))
	require.Len(t, l.Labels(other), 2)
	require.Contains(t, l.Told(), "it is not for you")
	require.Contains(t, l.Told(), "it is taken")
}

func untaken(t *testing.T, l *listening) {
	id := l.sent(t)
	l.mu.Lock()
	l.refuse = 2
	l.mu.Unlock()
	l.Press(ann(), id, "Approve")
	acts := l.heard(t, 3)
	require.Equal(t, acts[0], acts[1])
	require.Equal(t, acts[0], acts[2])
	l.Press(ann(), id, "Approve")
	require.NotEqual(t, acts[0].ID, l.heard(t, 4)[3].ID, "the same press is not given again")
}

func asked(t *testing.T, l *listening) {
	id := l.sent(t)
	l.Press(ann(), id, "Reject")
	a := l.heard(t, 1)[0]
	require.NoError(t, l.to.Answer(t.Context(), a, messenger.Answer{Text: "why?", Ask: true}))
	shown := l.Shown()
	require.Contains(t, shown[len(shown)-1], "why?")
	const why = "the limits <b> are wrong & late"
	l.Write(ann(), why)
	b := l.heard(t, 2)[1]
	require.NotEqual(t, a.ID, b.ID)
	require.Equal(t, []string{ann().ID, a.Choice, why}, []string{b.By.ID, b.Choice, b.Text})
	require.Len(t, l.Labels(id), 2)
	require.NoError(t, l.to.Answer(t.Context(), b, messenger.Answer{Text: "it is taken", Done: true}))
	require.Empty(t, l.Labels(id), "those of the message that the question came of")
}
