package sqlite_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/orchestrator/storetest"
	"github.com/signalbox-dev/signalbox/queue/queuetest"
)

func dsn(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }

// openTwo opens two handles on one file, as two processes have them.
func openTwo(t *testing.T, now func() time.Time) (dbs [2]*sqlite.DB) {
	t.Helper()
	path := place(t)
	for i := range dbs {
		dbs[i] = openWith(t, sqlite.Options{Path: path, Now: now})
	}
	t.Cleanup(func() { agree(t, path) })
	return dbs
}

// Two processes that work on one file in turns are like one: what one remembers is
// not what the other has changed since. Hints alone do not cross processes.
func TestQueueConformanceOfTwo(t *testing.T) {
	var seed uint64
	queuetest.Run(t, func(t *testing.T, now func() time.Time) queuetest.Queue {
		t.Helper()
		dbs := openTwo(t, now)
		if strings.HasSuffix(t.Name(), "/a_hint_comes_when_a_job_becomes_claimable") {
			return dbs[0]
		}
		seed++
		return queuetest.InTurns(seed, dbs[0], dbs[1])
	})
}

// Two processes that decide on one task write one journal, in the order of versions.
func TestOrderOfTwo(t *testing.T) {
	t.Parallel()
	dbs := openTwo(t, nil)
	storetest.Order(t, dbs[0], dbs[1])
}

// A file of another layout is refused with what to do.
func TestLayout(t *testing.T) {
	t.Parallel()
	for layout, want := range map[string]string{
		"pragma user_version = 99":                                 "use the newer program",
		"create table jobs (id integer primary key)":               "use the older program",
		"create table other (id integer); pragma user_version = 1": "use the older program",
	} {
		path := place(t)
		raw := openRaw(t, dsn(path))
		execute(t, raw, layout)
		require.NoError(t, raw.Close())
		_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path)
	}
}
