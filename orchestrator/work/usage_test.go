package work_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

func TestMeasuredDiffers(t *testing.T) {
	t.Parallel()
	usage := work.Usage{Input: 900, Output: 100, MicroUSD: 1000}
	for name, c := range map[string]struct {
		told work.Usage
		want bool
	}{
		"the same":       {usage, false},
		"two percent":    {work.Usage{Input: 880, Output: 100, MicroUSD: 980}, false},
		"less cost":      {work.Usage{Input: 900, Output: 100, MicroUSD: 979}, true},
		"more tokens":    {work.Usage{Input: 1000, Output: 100, MicroUSD: 1000}, true},
		"tokens alone":   {work.Usage{Output: 5}, true},
		"nothing at all": {work.Usage{}, false},
	} {
		require.Equal(t, c.want, (&work.Measured{Told: c.told}).Differs(usage), name)
	}
	require.False(t, (*work.Measured)(nil).Differs(usage))
}
