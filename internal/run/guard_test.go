package run_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/run"
)

func TestGuard(t *testing.T) {
	before := run.Panics()
	require.NoError(t, run.Guard("fine", func() {}))
	err := run.Guard("gate x", func() { panic("oh") })
	var p *run.PanicError
	require.True(t, errors.As(err, &p))
	require.Equal(t, "gate x panicked: oh", err.Error())
	require.Contains(t, p.Stack, "guard_test")
	require.Equal(t, before+1, run.Panics())
}

func ExampleGuard() {
	err := run.Guard("work", func() { panic("out of luck") })
	fmt.Println(err)
	// Output: work panicked: out of luck
}
