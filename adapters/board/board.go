// Package board keeps a board of our own: cards, columns, comments, relations and a log of
// who has moved what, in the database that the service has anyway, an SQLite file or a
// PostgreSQL. With it the service needs no other tracker.
//
// A Board is a tracker.Tracker for the engine, with every optional port of package tracker, and a
// cards.Board for the pages of the dashboard. A call that changes something is one short
// transaction on a connection of its own; it is on disk when the call returns nil.
//
// Its projects need not be set up: every project of the registry has a board with a column
// for each status, and cards are numbered within it. An account is a name that somebody has
// typed; cards.Person says what proves it. The service's own accounts are "signalbox/" and a
// role, which nobody can type.
package board

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// Options of a Board. Path or URL is required.
type Options struct {
	Path   string // of the SQLite file that the service keeps everything in
	URL    string // of its PostgreSQL, as adapters/postgres takes it
	Schema string `envDefault:"signalbox"` // of the tables there, which exists
	// Page is the address of the cards' pages as people reach it, such as
	// https://signalbox.example.org/dashboard/board/cards; links lead there.
	Page string
	// Columns are the statuses that a project has columns for; nil = all.
	Columns func(project string) []stage.Status
	Now     func() time.Time // nil = time.Now
}

// Board is an open board. It is safe for concurrent use, by several processes too.
type Board struct {
	opt Options
	db  database
}

var (
	_ interface {
		tracker.Tracker
		tracker.Accounts
		tracker.Board
		tracker.Log
		tracker.People
	} = (*Board)(nil)
	_ interface {
		tracker.Linker
		tracker.Editor
		tracker.Relations
		cards.Board
	} = (*Board)(nil)
)

// Open opens the database and makes the tables that are missing.
func Open(ctx context.Context, o Options) (*Board, error) {
	defaults.Fill(&o)
	b := &Board{opt: o}
	var err error
	switch {
	case o.URL != "":
		b.db, err = openPostgres(o.URL, o.Schema)
	case o.Path != "":
		b.db, err = openSQLite(o.Path)
	default:
		return nil, errors.New("board: Options.Path or URL is required")
	}
	if err != nil {
		return nil, fmt.Errorf("board: %w", err)
	}
	if err := b.db.migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("the tables cannot be made: %w", err), b.db.Close())
	}
	return b, nil
}

// Close closes the connections.
func (b *Board) Close() error { return b.db.Close() }

// newID is an id that no other card or comment has.
func newID() string { return strings.ToLower(rand.Text()) }

// now is the moment in microseconds.
func (b *Board) now() int64 { return b.opt.Now().UnixMicro() }

func moment(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// isSaid reports whether an error says something of the input, not of the database.
func isSaid(err error) bool {
	var input *cards.InputError
	return errors.As(err, &input) ||
		errors.Is(err, tracker.ErrNotFound) || errors.Is(err, tracker.ErrNoStatus) || errors.Is(err, cards.ErrConflict)
}

func notFound(what, id string) error {
	return fmt.Errorf("%w: %s %.80s", tracker.ErrNotFound, what, id)
}

// row is a card as it is kept.
type row struct {
	cards.Card
	entries int64
	moved   int64
}

const storedOfCard = "id, project, number, title, description, col, state, version, entries, made_by, made_at, moved_at"

const labelsOfCard = ", coalesce((select labels from board_labels where card = board_cards.id), '')"

const columnsOfCard = storedOfCard + labelsOfCard

// scan reads columnsOfCard, and what follows them.
func (r *row) scan(scan func(...any) error, more ...any) error {
	var made int64
	fields := []any{
		&r.ID, &r.Project, &r.Number, &r.Title, &r.Description, &r.Column, &r.State, &r.Version,
		&r.entries, &r.MadeBy, &made, &r.moved, &r.Labels,
	}
	err := scan(append(fields, more...)...)
	r.MadeAt, r.MovedAt = moment(made), moment(r.moved)
	return err
}

// find reads a card that is not deleted. An empty project is any.
func (b *Board) find(ctx context.Context, from asker, project, id string) (r row, err error) {
	found := false
	err = b.db.each(ctx, from, "select "+columnsOfCard+" from board_cards where id = ?", []any{id}, func(scan func(...any) error) error {
		found = true
		return r.scan(scan)
	})
	if err == nil && (!found || r.State == cards.Deleted || project != "" && r.Project != project) {
		err = notFound("card", id)
	}
	return r, err
}

// change makes a change of a card and its entry in the log. set assigns columns of
// board_cards.
func (b *Board) change(ctx context.Context, t tx, r *row, e cards.Entry, set string, args ...any) (cards.Entry, error) {
	r.entries++
	e.Card, e.Project, e.N = r.ID, r.Project, r.entries
	e.At = cmp.Or(e.At, moment(b.now()))
	if set != "" {
		set = ", " + set
	}
	err := errors.Join(
		t.exec(ctx, "update board_cards set entries = ?"+set+" where id = ?", append(append([]any{r.entries}, args...), r.ID)...),
		t.exec(ctx, `insert into board_moves (card, n, kind, from_col, to_col, actor, proof, before_it, at)
			values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			e.Card, e.N, e.Kind, e.From, e.To, e.By, string(e.Proof), e.Before, e.At.UnixMicro()),
		t.touch(ctx),
	)
	return e, err
}

// touch makes the revision another one.
func (t tx) touch(ctx context.Context) error {
	return t.exec(ctx, "update board_revision set n = n + 1 where id = 1")
}

// put moves a card. The moment is behind that of the move before, whatever the clock says.
func (b *Board) put(ctx context.Context, t tx, r *row, column, by string, proof stage.Proof) (cards.Entry, error) {
	at := max(b.now(), r.moved+1)
	e := cards.Entry{Kind: cards.Moved, From: r.Column, To: column, By: by, Proof: proof, At: moment(at)}
	r.Column, r.moved, r.MovedAt = column, at, moment(at)
	if err := t.exec(ctx, "delete from board_ranks where card = ?", r.ID); err != nil {
		return e, err
	}
	return b.change(ctx, t, r, e, "col = ?, moved_at = ?", column, at)
}

const columnsOfEntry = "card, (select project from board_cards where id = card), n, kind, from_col, to_col, actor, proof, before_it, at"

func scanEntry(scan func(...any) error) (e cards.Entry, err error) {
	var at int64
	err = scan(&e.Card, &e.Project, &e.N, &e.Kind, &e.From, &e.To, &e.By, &e.Proof, &e.Before, &at)
	e.At = moment(at)
	return e, err
}

// lastMoves are the newest entries of the log by which a card stands where it stands, newest first.
func (b *Board) lastMoves(ctx context.Context, from asker, id string, most int) (list []cards.Entry, err error) {
	query := "select " + columnsOfEntry + ` from board_moves
		where card = ? and kind in ('made', 'moved') order by n desc limit ?`
	err = b.db.each(ctx, from, query, []any{id, most},
		func(scan func(...any) error) error {
			e, err := scanEntry(scan)
			list = append(list, e)
			return err
		})
	return list, err
}

// Ping reports whether the database answers.
func (b *Board) Ping(ctx context.Context) error { return unavailable(ctx, b.db.PingContext(ctx)) }

// once reads one text.
func (d database) once(ctx context.Context, from asker, query string, args ...any) (text string, found bool, err error) {
	err = d.each(ctx, from, query, args, func(scan func(...any) error) error {
		found = true
		var s sql.NullString
		err := scan(&s)
		text = s.String
		return err
	})
	return text, found, err
}
