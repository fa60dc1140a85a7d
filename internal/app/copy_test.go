package app_test

import (
	"compress/gzip"
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/internal/sqlstore/sqlstoretest"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// fileBody is in a file of that card.
const fileBody = "\x89PNG\r\n\x1a\n\x00\xff'\\"

// lived makes a data directory with one of everything that a store keeps, and a card of the
// service's own board.
func lived(t *testing.T) (s app.Settings, path string) {
	t.Helper()
	s = app.Settings{DataDir: t.TempDir(), DatabaseSettings: app.DatabaseSettings{DatabaseSchema: "signalbox"}, Listen: "127.0.0.1:8080"}
	path = filepath.Join(s.DataDir, "signalbox.db")
	packed, err := os.Open("../../adapters/sqlite/testdata/layout2.db.gz")
	require.NoError(t, err)
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	require.NoError(t, err)
	body, err := io.ReadAll(z)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, body, 0o600))
	db := fromFile(t, path)
	for i := range 3 { // the fixture is of before the chain
		require.NoError(t, db.Commit(t.Context(), task.Commit{Journal: []task.JournalEntry{{TaskID: 1, Seq: int64(i), At: sqlstoretest.Begun(), Kind: "a", Payload: []byte{0xff, 0, byte(i)}}}}))
	}
	_, err = db.AddToken(t.Context(), access.Token{Name: "kim", Hash: "h", Grant: access.Grant{Role: access.Admin}, Made: sqlstoretest.Begun()})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	b, err := board.Open(t.Context(), board.Options{Path: path})
	require.NoError(t, err)
	c, _, err := b.Make(t.Context(), cards.New{Key: "k", Project: "app", Title: "My card", By: cards.Person{Name: "Kim\x00\xff"}})
	require.NoError(t, err)
	_, err = b.Attach(t.Context(), cards.Attachment{ID: c.ID, Name: "a.png", Body: []byte(fileBody), By: cards.Person{Name: "Kim"}})
	require.NoError(t, err)
	require.NoError(t, b.Close())
	tracks, err := app.OpenTracks(t.Context(), s, nil)
	require.NoError(t, err)
	_, err = tracks.Hide(t.Context(), gpstracks.Zone{Name: "home", Center: orb.Point{20, 50}, RadiusM: 500, MadeAt: sqlstoretest.Begun()})
	require.NoError(t, err)
	_, err = tracks.Withhold(t.Context(), gpstracks.Removal{Source: "osm", ExternalID: "4711", Reason: "a wish", At: sqlstoretest.Begun()})
	require.NoError(t, err)
	require.NoError(t, tracks.Close())
	return s, path
}

// private reads what a store of tracks keeps away.
func private(t *testing.T, s app.Settings) (zones []gpstracks.Zone, removals []gpstracks.Removal) {
	t.Helper()
	tracks, err := app.OpenTracks(t.Context(), s, nil)
	require.NoError(t, err)
	defer tracks.Close()
	zones, err = tracks.Zones(t.Context())
	require.NoError(t, err)
	removals, err = tracks.Removals(t.Context())
	require.NoError(t, err)
	return zones, removals
}

func fromFile(t *testing.T, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Now: sqlstoretest.Begun})
	require.NoError(t, err)
	return db
}

func seen(t *testing.T, s sqlstoretest.Store) string {
	t.Helper()
	body, err := sqlstoretest.Seen(t.Context(), s)
	require.NoError(t, err)
	return string(body)
}

// What the SQLite file keeps is in PostgreSQL afterwards, and goes on there.
func TestCopy(t *testing.T) {
	t.Parallel()
	s, path := lived(t)
	address := pgtest.Start(t, pgtest.Options{Durable: true}).URL("postgres")
	counts, err := s.CopyTo(t.Context(), address)
	require.NoError(t, err)
	for _, name := range []string{"tasks", "jobs", "holds", "journal", "journal_head", "gate_results", "agent_runs", "job_deps", "reservations", "deliveries", "access_tokens", "board_cards", "board_files", "board_moves", "board_revision"} {
		require.Positive(t, counts[name], name)
	}
	zones, removals := private(t, s)
	s.DatabaseURL = secret.New(address)
	kept, away := private(t, s)
	require.Equal(t, zones, kept)
	require.Equal(t, removals, away)
	from := fromFile(t, path)
	defer from.Close()
	before := seen(t, from)
	audit, err := task.Verify(t.Context(), from)
	require.NoError(t, err)
	require.Equal(t, 3, audit.Entries)
	last, err := from.NewTaskID(t.Context())
	require.NoError(t, err)

	to, err := postgres.Open(t.Context(), postgres.Options{URL: address, Now: sqlstoretest.Begun})
	require.NoError(t, err)
	defer to.Close()
	require.JSONEq(t, before, seen(t, to))
	tokens, err := to.Tokens(t.Context())
	require.NoError(t, err)
	require.Equal(t, "kim", tokens[0].Name)
	id, err := to.NewTaskID(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, id, last)
	known, err := to.Tasks(t.Context(), task.Filter{})
	require.NoError(t, err)
	for _, k := range known {
		require.Greater(t, id, k.ID)
	}
	require.NoError(t, to.Commit(t.Context(), task.Commit{
		Task:    &task.Task{ID: id, WorkItemID: "APP-99", TrackerIssueID: "99", Repo: "acme/app", Branch: "b", State: stage.State{Stage: stage.Analysis}},
		Journal: []task.JournalEntry{{TaskID: id, At: time.Now(), Kind: "a", Payload: []byte("{}")}}, Jobs: []queue.Job{{Pool: "p"}},
	}))
	after, err := task.Verify(t.Context(), to)
	require.NoError(t, err)
	require.Equal(t, []any{4, audit.Before, 0}, []any{after.Entries, after.Before, len(after.Broken)})
	b, err := board.Open(t.Context(), board.Options{URL: address})
	require.NoError(t, err)
	defer b.Close()
	again, _, err := b.Make(t.Context(), cards.New{Key: "k", Project: "app", Title: "My card", By: cards.Person{Name: "Kim"}})
	require.NoError(t, err)
	require.EqualValues(t, 1, again.Number, "its form was taken before")
	files, err := b.Files(t.Context(), "app", again.ID)
	require.NoError(t, err)
	require.Len(t, files, 1)
	r, err := b.OpenFile(t.Context(), "app", again.ID, files[0].ID)
	require.NoError(t, err)
	body, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, fileBody, string(body))
}

// A copy that is not the same is none: the schema is as empty as before, and takes the next one.
func TestCopyRefused(t *testing.T) {
	t.Parallel()
	s, path := lived(t)
	address := pgtest.Start(t, pgtest.Options{Durable: true}).URL("postgres")
	c, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer c.Close(t.Context())
	to, err := postgres.Open(t.Context(), postgres.Options{URL: address})
	require.NoError(t, err)
	require.NoError(t, to.Ping(t.Context())) // by a session of its own, which the copy sees
	for _, wrong := range []string{"mysql://u:hidden@x/y", "postgres://u:hidden%zz@x/y", "postgres://u:hidden@x:99999999/y", "postgres://u:hidden@127.0.0.1:1/y", "password=hidden port=x"} {
		_, err := s.CopyTo(t.Context(), wrong)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hidden", wrong)
	}
	refused := func(want string) {
		_, err := s.CopyTo(t.Context(), address)
		require.ErrorContains(t, err, want)
		var rows int
		require.NoError(t, c.QueryRow(t.Context(), "select (select count(*) from signalbox.tasks) + (select count(*) from signalbox.journal) + (select count(*) from signalbox.jobs)").Scan(&rows))
		require.Zero(t, rows)
	}
	refused("a program has the schema open")
	require.NoError(t, to.Close())
	held, err := s.Occupy()
	require.NoError(t, err)
	refused("at http://127.0.0.1:8080): stop it first")
	require.NoError(t, held.Close())

	change := func(query string) {
		_, err := c.Exec(t.Context(), query)
		require.NoError(t, err)
	}
	change("create function lose() returns trigger language plpgsql as $$ begin return null; end $$")
	change("create function spoil() returns trigger language plpgsql as $$ begin new.payload = 'x'; return new; end $$")
	change("create trigger planted before insert on signalbox.agent_runs for each row when (new.id = 1) execute function lose()")
	refused("table agent_runs: ")
	change("drop trigger planted on signalbox.agent_runs; create trigger planted before insert on signalbox.journal for each row when (new.task_id = 1 and length(new.link) > 0) execute function spoil()")
	refused("was changed after it was written")
	change("drop trigger planted on signalbox.journal")

	lay := func(query string) {
		raw, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		_, err = raw.ExecContext(t.Context(), query)
		require.NoError(t, err)
		require.NoError(t, raw.Close())
	}
	lay("alter table tasks add column newer integer not null default 7")
	refused("table tasks: it has ")
	lay("alter table tasks drop column newer")

	_, err = s.CopyTo(t.Context(), address)
	require.NoError(t, err)
	_, err = s.CopyTo(t.Context(), address)
	require.ErrorIs(t, err, postgres.ErrFilled)
}
