package postgres_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/internal/sqlstore/sqlstoretest"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/lease"
)

// step8 makes a database as a build of step 8 has left it.
func step8(t *testing.T) (url string) {
	t.Helper()
	url = pgtest.Open(t)
	c := connect(t, url)
	exec := func(script string) {
		_, err := c.PgConn().Exec(t.Context(), strings.ReplaceAll(script, "~", "signalbox.")).ReadAll()
		require.NoError(t, err)
	}
	exec("create schema signalbox; create table ~migrations (version integer primary key, at timestamptz not null default now())")
	exec("create table ~schema_migrations (name text primary key, applied_at timestamptz not null default now())")
	for n := range 8 {
		step, err := os.ReadFile(fmt.Sprintf("migrations/%04d.sql", n+1))
		require.NoError(t, err)
		exec(string(step))
	}
	body, err := os.ReadFile("testdata/step8.rows.json")
	require.NoError(t, err)
	var tables map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(body, &tables))
	exec(fmt.Sprintf("select setval('~task_ids', %s)", tables["sequence task_ids"]))
	delete(tables, "sequence task_ids")
	for table, rows := range tables {
		if strings.HasPrefix(table, "track") || table == "pipeline_runs" || table == "schema_migrations" {
			continue // another domain's
		}
		exec("delete from ~" + table)
		_, err := c.Exec(t.Context(), "insert into signalbox."+table+" overriding system value select * from json_populate_recordset(null::signalbox."+table+", $1)", string(rows))
		require.NoError(t, err, table)
		exec("do $$ begin perform setval(pg_get_serial_sequence('~" + table + "', 'id'), 1000); exception when others then null; end $$")
	}
	return url
}

// What a database of step 8 holds is carried over by the first process that opens it.
func TestStep8(t *testing.T) {
	t.Parallel()
	url, now := step8(t), sqlstoretest.Begun()
	o := postgres.Options{URL: url, AllowUnsafe: true, Now: func() time.Time { return now }}
	db := open(t, o)
	hosts := func() bool {
		return len(read(t, db.Jobs, queue.Filter{Pool: "hosts"})) == 1
	}
	require.Eventually(t, hosts, 20*time.Second, 10*time.Millisecond, "a host's job is moved into the queue")
	claims := take(t, db, "hosts", 1)
	c := connect(t, url)
	execute(t, c, "delete from signalbox.jobs where id = $1", claims[0].Job.ID)
	execute(t, c, "delete from signalbox.depth where pool = 'hosts'")
	agree(t, url)
	_, err := db.Leases().Acquire(t.Context(), "l", "another", time.Minute)
	var held *lease.Held
	require.ErrorAs(t, err, &held)
	before, err := os.ReadFile("testdata/step8.json")
	require.NoError(t, err)
	sqlstoretest.Check(t, db, before, func(d time.Duration) { now = now.Add(d) })
	agree(t, url)
}

// An id that was drawn before step 9 does not come back, though its job was pruned.
func TestStep8IDs(t *testing.T) {
	t.Parallel()
	url := step8(t)
	c := connect(t, url)
	execute(t, c, "update signalbox.turn set ids = 5000; delete from signalbox.inbox")
	require.Equal(t, []int64{5001, 5002}, put(t, at(t, url), bare, bare))
}

// Tables that a newer program has laid out anew are refused, and left as they are.
func TestLaterLayout(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	require.NoError(t, at(t, url).Close())
	c := connect(t, url)
	execute(t, c, "update signalbox.turn set layout = 99")
	_, err := postgres.Open(t.Context(), postgres.Options{URL: url, AllowUnsafe: true})
	require.ErrorContains(t, err, "have layout 99 and this program reads 9: use the newer program")
}
