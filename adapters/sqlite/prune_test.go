package sqlite_test

import (
	"bytes"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/queue"
)

// end puts n jobs with large payloads and ends them.
func end(t *testing.T, db *sqlite.DB, n int) (ids []int64) {
	t.Helper()
	jobs := make([]queue.Job, n)
	for i := range jobs {
		jobs[i] = queue.Job{Pool: "p", Payload: bytes.Repeat([]byte{'x'}, 4000)}
	}
	ids = put(t, db, jobs...)
	claims := take(t, db, "p", n)
	for _, c := range claims {
		require.NoError(t, db.Finish(t.Context(), c, queue.Outcome{Kind: queue.OutcomeDone}))
	}
	return ids
}

// pruneAll removes the jobs that ended a month ago.
func pruneAll(t *testing.T, db *sqlite.DB, now time.Time) (sum int) {
	t.Helper()
	for after := int64(0); ; {
		n, next, err := db.PruneJobs(t.Context(), now.Add(-30*24*time.Hour), after, 100)
		require.NoError(t, err)
		if sum += n; next == 0 {
			return sum
		}
		after = next
	}
}

// size is that of a file whose writes have all reached it.
func size(t *testing.T, path string) int64 {
	t.Helper()
	raw := openRaw(t, path)
	execute(t, raw, "pragma wal_checkpoint(truncate)")
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Size()
}

func TestPrunedFileShrinks(t *testing.T) {
	path := place(t)
	var skip atomic.Int64
	now := func() time.Time { return time.Unix(1_800_000_000+skip.Load(), 0) }
	db := openWith(t, sqlite.Options{Path: path, Now: now})
	end(t, db, 1000)
	skip.Add(31 * 24 * 3600)
	young := end(t, db, 10)
	large := size(t, path)
	require.Greater(t, large, int64(4_000_000))
	require.Equal(t, 1000, pruneAll(t, db, now()))
	require.Less(t, size(t, path), large/4)
	require.Len(t, read(t, db.Jobs, queue.Filter{}), 10)

	skip.Add(31 * 24 * 3600)
	require.Equal(t, 9, pruneAll(t, db, now()))
	require.NoError(t, db.Close())
	db = openWith(t, sqlite.Options{Path: path, Now: now})
	require.Equal(t, young[9]+1, end(t, db, 1)[0], "ids go on behind those that were removed")
}

// A file that was made without the means to shrink is pruned all the same.
func TestPruneOfAnOlderFile(t *testing.T) {
	path := place(t)
	raw := openRaw(t, path)
	execute(t, raw, "create table other (a)")
	require.NoError(t, raw.Close())
	now := time.Unix(1_800_000_000, 0)
	db := openWith(t, sqlite.Options{Path: path, Now: func() time.Time { return now }})
	end(t, db, 20)
	require.Equal(t, 19, pruneAll(t, db, now.Add(31*24*time.Hour)))
}
