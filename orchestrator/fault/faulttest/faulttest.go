// Package faulttest is the conformance suite of package fault, for one call of a
// port. The suites of the ports run it for the calls that change something.
package faulttest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// Kind names what a call meets.
type Kind string

// Kinds of failure.
const (
	None    Kind = "nothing" // it is healed
	Final   Kind = "refused for good"
	Passing Kind = "refused for a while"
	Later   Kind = "refused until a moment"
)

// moment delays the retry that Error names for Later. A service may name another.
const moment = 7 * time.Second

// Error is an error of a kind, for doubles; nil for None.
func Error(k Kind) error {
	if k == None {
		return nil
	}
	e := &fault.Error{Text: string(k), Again: k != Final}
	if k == Later {
		e.Wait = moment
	}
	return e
}

// Trial is one call and what is around it.
type Trial struct {
	// Fail makes this call, and no other, fail from now on.
	Fail func(Kind)
	// Call makes the call, always with the same arguments.
	Call func(context.Context) error
	// Others makes the other calls, which must work meanwhile.
	Others func()
	// Done counts how often the world has seen what the call does.
	Done func() int
	// Repeats means that the call has an identity: made again, it is seen once.
	Repeats bool
	// Mute means that the service cannot name a moment.
	Mute bool
}

// Run opens a trial for each kind of failure.
func Run(t *testing.T, open func(t *testing.T) Trial) {
	t.Helper()
	for _, kind := range []Kind{Final, Passing, Later} {
		t.Run(string(kind), func(t *testing.T) {
			if x := open(t); !x.Mute || kind != Later {
				x.run(t, kind)
			}
		})
	}
}

func (x Trial) run(t *testing.T, kind Kind) {
	t.Helper()
	before := x.Done()
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, x.Call(ended), context.Canceled, "the end of the caller's context stays what it is")
	x.Fail(kind)
	for range 2 {
		err := x.Call(t.Context())
		require.Error(t, err)
		require.Equal(t, kind != Final, fault.Retryable(err), "%v", err)
		require.Equal(t, kind == Later, fault.After(err) > 0, "%v", err)
	}
	require.Equal(t, before, x.Done(), "nothing was half done")
	x.Others()
	require.Equal(t, before, x.Done())
	x.Fail(None)
	require.NoError(t, x.Call(t.Context()))
	if x.Repeats {
		require.NoError(t, x.Call(t.Context()))
	}
	require.Equal(t, before+1, x.Done())
}
