package intercept

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/queue"
)

// Every call of a port goes by the hook, by its own name: one that did not would have no fate in a
// simulation, and no cost in a count.
func TestEveryCallIsIntercepted(t *testing.T) {
	var met []string
	refuse := func(_ context.Context, c *Call, _ func() error) error {
		met = append(met, c.Name)
		return context.Canceled
	}
	for _, p := range []any{Store(nil, refuse), Host(nil, refuse), Workspaces(nil, refuse)} {
		port := reflect.ValueOf(p)
		for i := range port.NumMethod() {
			name, of := port.Type().Method(i).Name, port.Method(i).Type()
			if name == "Wake" { // a channel in memory
				continue
			}
			in := []reflect.Value{reflect.ValueOf(t.Context())}
			for i := 1; i < of.NumIn(); i++ {
				in = append(in, reflect.Zero(of.In(i)))
			}
			call := port.Method(i).Call
			if of.IsVariadic() {
				in[len(in)-1] = reflect.MakeSlice(of.In(len(in)-1), 1, 1)
				call = port.Method(i).CallSlice
			}
			met = nil
			out := call(in)
			require.Equal(t, []string{name}, met)
			require.Equal(t, context.Canceled, out[len(out)-1].Interface(), name)
			require.True(t, out[0].IsZero() || len(out) == 1, name)
		}
	}
}

// A hook may make a call twice, send it elsewhere, and say something else of it than was answered.
func TestHook(t *testing.T) {
	first, second := memhost.New(), memhost.New()
	first.Push("acme/app", "main", "1")
	second.Push("acme/app", "main", "2")
	var said []any
	host := Host(first, func(_ context.Context, c *Call, next func() error) error {
		said = append(said, c.Name, c.In, next(), c.Out)
		c.To = second
		err := next()
		said = append(said, c.Out)
		c.Out = nil
		return errors.Join(err, queue.ErrLost)
	})
	list, err := host.BranchesAt(t.Context(), "acme/app", "2")
	require.ErrorIs(t, err, queue.ErrLost)
	require.Nil(t, list)
	require.Equal(t, []any{"BranchesAt", []any{"acme/app", "2"}, githost.ErrNotFound, []string(nil), []string{"main"}}, said)
	require.NoError(t, Queue(nil, nil).Hold(t.Context()), "nothing is no call")
}
