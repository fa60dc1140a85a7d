package postgres_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access/accesstest"
)

func TestAccessConformance(t *testing.T) {
	t.Parallel()
	accesstest.Run(t, func(t *testing.T) (first, second access.Store) {
		t.Helper()
		url := pgtest.Open(t)
		return at(t, url), at(t, url)
	})
}
