package service

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/follow"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// How far an agent is reads as people say it.
func TestWordsProgress(t *testing.T) {
	cost := work.Usage{MicroUSD: 410_000}
	for want, p := range map[string]follow.Progress{
		"developer: 1 file": {Files: 1}, "developer: 0 files, $0.41": {Usage: cost}, "developer: 14 files, $0.41": {Files: 14, Usage: cost},
	} {
		require.Equal(t, want, wordsProgress(stage.Developer, p))
	}
}
