package sqlite_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/internal/sqlstore/sqlstoretest"
	"github.com/signalbox-dev/signalbox/queue"
)

// old unpacks a file that a build of an older layout has written.
func old(t *testing.T, layout int) string {
	t.Helper()
	packed, err := os.Open(fmt.Sprintf("testdata/layout%d.db.gz", layout))
	require.NoError(t, err)
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	require.NoError(t, err)
	body, err := io.ReadAll(z)
	require.NoError(t, err)
	path := place(t)
	require.NoError(t, os.WriteFile(path, body, 0o600))
	return path
}

// What a file of an older layout holds is carried over when it is opened, once.
func TestOlderLayouts(t *testing.T) {
	t.Parallel()
	for layout := 2; layout <= 3; layout++ {
		t.Run(fmt.Sprint(layout), func(t *testing.T) { carryOver(t, old(t, layout)) })
	}
}

func carryOver(t *testing.T, path string) {
	now := sqlstoretest.Begun()
	o := sqlite.Options{Path: path, Now: func() time.Time { return now }}
	require.NoError(t, openWith(t, o).Close())
	agree(t, path)
	db := openWith(t, o)
	before, err := os.ReadFile("testdata/layout.json")
	require.NoError(t, err)
	sqlstoretest.Check(t, db, before, func(d time.Duration) { now = now.Add(d) })
	agree(t, path)
}

// A file that cannot be carried over, or that a program of its layout works with, stays as it is.
func TestLayout2Undone(t *testing.T) {
	t.Parallel()
	path := old(t, 2)
	raw := openRaw(t, dsn(path))
	execute(t, raw, "drop table parked")
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	require.ErrorIs(t, err, sqlite.ErrInUse)
	require.NoError(t, raw.Close())
	_, err = sqlite.Open(t.Context(), sqlite.Options{Path: path})
	require.ErrorContains(t, err, "parked")
	raw = openRaw(t, dsn(path))
	var version, jobs int
	require.NoError(t, raw.QueryRowContext(t.Context(), "pragma user_version").Scan(&version))
	require.NoError(t, raw.QueryRowContext(t.Context(), "select count(*) from jobs join open_jobs on id = job_id").Scan(&jobs))
	require.Equal(t, 2, version)
	require.Positive(t, jobs)
	execute(t, raw, "create table parked (subject text not null, job_id integer not null, primary key (subject, job_id)) without rowid")
	require.NoError(t, raw.Close())
	put(t, openAt(t, path), queue.Job{Pool: "p"})
}

// A file whose cards have one task for ever is opened as one whose cards may have another after the end, once.
func TestIndexOfCards(t *testing.T) {
	t.Parallel()
	path := place(t)
	open := func() (index string) {
		require.NoError(t, openAt(t, path).Close())
		raw := openRaw(t, dsn(path))
		require.NoError(t, raw.QueryRowContext(t.Context(), "select sql from sqlite_schema where name = 'tasks_issue'").Scan(&index))
		return index
	}
	now := open()
	raw := openRaw(t, dsn(path))
	execute(t, raw, "drop index tasks_issue; create unique index tasks_issue on tasks (tracker_project_id, tracker_issue_id)")
	require.NoError(t, raw.Close())
	require.Equal(t, now, open())
	require.Contains(t, now, "where ended_at = 0")
}
