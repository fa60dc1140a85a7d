package sqlite_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access/accesstest"
)

func TestAccessConformance(t *testing.T) {
	accesstest.Run(t, func(t *testing.T) (first, second access.Store) {
		t.Helper()
		dbs := openTwo(t, nil)
		return dbs[0], dbs[1]
	})
}
