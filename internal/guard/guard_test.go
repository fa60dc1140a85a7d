package guard_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/guard"
)

func TestDo(t *testing.T) {
	before := guard.Count()
	require.NoError(t, guard.Do("fine", func() {}))
	err := guard.Do("gate x", func() { panic("oh") })
	var p *guard.Panicked
	require.True(t, errors.As(err, &p))
	require.Equal(t, "gate x panicked: oh", err.Error())
	require.Contains(t, p.Stack, "guard_test")
	require.Equal(t, before+1, guard.Count())
}

func Example() {
	err := guard.Do("work", func() { panic("out of luck") })
	fmt.Println(err)
	// Output: work panicked: out of luck
}
