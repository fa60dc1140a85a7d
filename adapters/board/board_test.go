package board_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/memfault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
	"github.com/signalbox-dev/signalbox/tracker/trackertest"
)

var (
	kim = cards.Person{Name: "Kim", Proof: stage.ProofToken}
	lee = cards.Person{Name: "Lee"}
)

// stores make an empty database of each kind.
func stores() map[string]func(t *testing.T) board.Options {
	return map[string]func(t *testing.T) board.Options{
		"sqlite": func(t *testing.T) board.Options {
			return board.Options{Path: filepath.Join(t.TempDir(), "signalbox.db")}
		},
		"postgres": func(t *testing.T) board.Options {
			address := pgtest.Open(t)
			c, err := pgx.Connect(t.Context(), address)
			require.NoError(t, err)
			_, err = c.Exec(t.Context(), `create schema "odd ""name"`)
			require.NoError(t, err)
			require.NoError(t, c.Close(t.Context()))
			return board.Options{URL: address, Schema: `odd "name`}
		},
	}
}

func open(t *testing.T, o board.Options) *board.Board {
	t.Helper()
	b, err := board.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// inEach runs a test over each kind of database.
func inEach(t *testing.T, f func(t *testing.T, b *board.Board, o board.Options)) {
	t.Helper()
	for name, options := range stores() {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			f(t, open(t, o), o)
		})
	}
}

// failing makes calls of the port fail, as nothing in a database can be made to.
type failing struct {
	*board.Board
	memfault.Switch
}

func (f *failing) Item(ctx context.Context, project, item string) (tracker.Item, error) {
	if err := f.Failure(ctx, "Item"); err != nil {
		return tracker.Item{}, err
	}
	return f.Board.Item(ctx, project, item)
}

func (f *failing) List(ctx context.Context, q tracker.Query) (tracker.Page, error) {
	if err := f.Failure(ctx, "List"); err != nil {
		return tracker.Page{}, err
	}
	return f.Board.List(ctx, q)
}

func (f *failing) Comments(ctx context.Context, project, item string) ([]tracker.Comment, error) {
	if err := f.Failure(ctx, "Comments"); err != nil {
		return nil, err
	}
	return f.Board.Comments(ctx, project, item)
}

func (f *failing) Columns(ctx context.Context, project string) (map[stage.Status]string, error) {
	if err := f.Failure(ctx, "Columns"); err != nil {
		return nil, err
	}
	return f.Board.Columns(ctx, project)
}

func (f *failing) LastMove(ctx context.Context, project, item string) (tracker.Move, error) {
	if err := f.Failure(ctx, "LastMove"); err != nil {
		return tracker.Move{}, err
	}
	return f.Board.LastMove(ctx, project, item)
}

func (f *failing) AddComment(ctx context.Context, n tracker.NewComment) (string, error) {
	if err := f.Failure(ctx, "AddComment"); err != nil {
		return "", err
	}
	return f.Board.AddComment(ctx, n)
}

func (f *failing) SetStatus(ctx context.Context, project, item string, s stage.Status) error {
	if err := f.Failure(ctx, "SetStatus"); err != nil {
		return err
	}
	return f.Board.SetStatus(ctx, project, item, s)
}

func TestConformance(t *testing.T) {
	for name, options := range stores() {
		t.Run(name, func(t *testing.T) {
			trackertest.Run(t, func(t *testing.T) trackertest.Fixture {
				var mu sync.Mutex
				columns := map[string][]stage.Status{}
				o := options(t)
				o.Columns = func(project string) []stage.Status {
					mu.Lock()
					defer mu.Unlock()
					return columns[project]
				}
				b := open(t, o)
				f := &failing{Board: b}
				card(t, b, "by which Kim is known")
				return trackertest.Fixture{
					Tracker: f, Person: tracker.Person{ID: kim.Name, Name: kim.Name},
					NewProject: func(list ...stage.Status) string {
						mu.Lock()
						defer mu.Unlock()
						id := fmt.Sprint("project ", len(columns)+1)
						columns[id] = list
						return id
					},
					NewItem: func(project, title, description string) string {
						c, _, err := b.Make(t.Context(), cards.New{Project: project, Title: title, Description: description, By: kim})
						require.NoError(t, err)
						return c.ID
					},
					Move: func(item string, to stage.Status) {
						_, err := b.Move(t.Context(), item, string(to), kim)
						require.NoError(t, err)
					},
					Say: func(item, text string) {
						require.NoError(t, b.Say(t.Context(), cards.Saying{ID: item, Body: text, By: kim}))
					},
					Attach: func(item, name string, body []byte) { mustAttach(t, b, item, name, string(body)) },
					Fail:   func(call string, how faulttest.Kind) { f.FailCall(call, faulttest.Error(how)) },
					Edges: trackertest.Edges{Label: func(item string, labels ...string) {
						s := read(t, b.Story, item)
						require.NoError(t, b.Edit(t.Context(), cards.Edit{
							ID: item, Version: s.Version, Title: s.Title, Description: s.Description, By: kim,
							Labels: " " + strings.Join(labels, " ,\n") + ",, bug",
						}))
					}, Block: func(item, by string) {
						require.NoError(t, b.Arrange(t.Context(), cards.Arrangement{ID: item, Kind: cards.Blocked, Other: by, By: kim}))
					}},
				}
			})
		})
	}
}

func card(t *testing.T, b *board.Board, title string) cards.Card {
	t.Helper()
	c, _, err := b.Make(t.Context(), cards.New{Key: title, Project: "p", Title: title, Description: "d", By: kim})
	require.NoError(t, err)
	return c
}

// What is sent again because no answer came is there once; what was typed besides is there
// too.
func TestFormsAreSentAgain(t *testing.T) {
	inEach(t, func(t *testing.T, b *board.Board, o board.Options) {
		ctx := t.Context()
		first := card(t, b, "one")
		require.Equal(t, first.ID, card(t, b, "one").ID)
		other, _, err := b.Make(ctx, cards.New{Key: "one", Project: "p", Title: "one, and more", By: kim})
		require.NoError(t, err)
		require.NotEqual(t, first.ID, other.ID)
		require.Equal(t, []int64{1, 2}, []int64{first.Number, other.Number})

		key := "k\x00\xff" + fmt.Sprint(rand.Perm(5000))
		for _, body := range []string{"a word\r\n\x00", "a word", "a word more"} {
			require.NoError(t, b.Say(ctx, cards.Saying{ID: first.ID, Key: key, Body: body, By: lee}))
		}
		e, err := b.Move(ctx, first.ID, "to_analyse", lee)
		require.NoError(t, err)
		again, err := b.Move(ctx, first.ID, "To Analyse", kim)
		require.NoError(t, err)
		require.Equal(t, e, again, "the move that has put it there")

		reopened := open(t, o)
		s, err := reopened.Story(ctx, first.ID)
		require.NoError(t, err)
		require.Len(t, s.Comments, 2)
		require.Equal(t, []string{"a word", "a word more"}, []string{s.Comments[0].Body, s.Comments[1].Body})
		require.Len(t, s.Log, 2)
		require.Equal(t, e, s.Log[1])
		require.Equal(t, stage.ProofNone, s.Log[1].Proof, "a name that was typed proves nothing")
		m, err := reopened.LastMove(ctx, "p", first.ID)
		require.NoError(t, err)
		require.Len(t, m.Earlier, 1)
		m.Earlier = nil
		require.Equal(t, tracker.Move{To: "to_analyse", ActorID: "Lee", Proof: stage.ProofNone, At: e.At}, m)
	})
}

// An edit does not overwrite what somebody else has written meanwhile, and what it replaces
// stays in the log.
func TestEdits(t *testing.T) {
	inEach(t, func(t *testing.T, b *board.Board, _ board.Options) {
		ctx := t.Context()
		c := card(t, b, "one")
		moved := c.MovedAt
		edit := cards.Edit{ID: c.ID, Version: c.Version, Title: "  two\n ", Description: "new", By: lee}
		require.NoError(t, b.Edit(ctx, edit))
		require.NoError(t, b.Edit(ctx, edit), "sent again")
		edit.Description = "newer"
		require.ErrorIs(t, b.Edit(ctx, edit), cards.ErrConflict)
		s := read(t, b.Story, c.ID)
		require.Equal(t, []any{"two", "new", int64(2)}, []any{s.Title, s.Description, s.Version})
		require.Equal(t, "one\nd", s.Log[len(s.Log)-1].Before)
		i, err := b.Item(ctx, "p", c.ID)
		require.NoError(t, err)
		require.Equal(t, moved, i.UpdatedAt, "an edit is no move")
		for _, wrong := range []cards.Edit{{ID: c.ID, Title: " \n"}, {ID: c.ID, Title: string(make([]rune, 10_001))}} {
			var input *cards.InputError
			require.ErrorAs(t, b.Edit(ctx, wrong), &input)
		}
	})
}

func TestArrangements(t *testing.T) {
	inEach(t, func(t *testing.T, b *board.Board, _ board.Options) {
		ctx := t.Context()
		one, two := card(t, b, "one"), card(t, b, "two")
		arrange := func(kind, id, other string) error {
			return b.Arrange(ctx, cards.Arrangement{ID: id, Kind: kind, Other: other, By: kim})
		}
		var input *cards.InputError
		require.ErrorAs(t, arrange(cards.Blocked, one.ID, one.ID), &input)
		require.ErrorIs(t, arrange(cards.Blocked, one.ID, "nothing"), tracker.ErrNotFound)
		require.NoError(t, arrange(cards.Blocked, two.ID, one.ID))
		require.NoError(t, arrange(cards.Blocked, two.ID, one.ID), "again")
		refs, err := b.BlockedBy(ctx, "p", two.ID)
		require.NoError(t, err)
		require.Equal(t, []tracker.Ref{{ProjectID: "p", ItemID: one.ID}}, refs)
		require.Len(t, read(t, b.Story, one.ID).Blocks, 1)
		require.NoError(t, arrange(cards.Unblocked, two.ID, one.ID))
		refs, err = b.BlockedBy(ctx, "p", two.ID)
		require.NoError(t, err)
		require.Empty(t, refs)

		require.ErrorAs(t, arrange(cards.DeletedIt, one.ID, ""), &input, "it is not archived")
		require.NoError(t, arrange(cards.ArchivedIt, one.ID, ""))
		_, err = b.Move(ctx, one.ID, "done", kim)
		require.ErrorAs(t, err, &input)
		page, err := b.List(ctx, tracker.Query{ProjectID: "p"})
		require.NoError(t, err)
		require.Len(t, page.Items, 1)
		require.NoError(t, b.SetStatus(ctx, "p", one.ID, stage.StatusDone), "its task goes on")
		require.NoError(t, arrange(cards.DeletedIt, one.ID, ""))
		_, err = b.Item(ctx, "p", one.ID)
		require.ErrorIs(t, err, tracker.ErrNotFound)
		require.Equal(t, int64(3), card(t, b, "three").Number, "its number stays taken")
	})
}

// Pages of a listing are whole although cards move meanwhile, and columns show the newest.
func TestListings(t *testing.T) {
	inEach(t, func(t *testing.T, b *board.Board, _ board.Options) {
		ctx := t.Context()
		const many = 1030
		for n := range many {
			card(t, b, fmt.Sprint("card ", n))
		}
		seen := map[string]bool{}
		q := tracker.Query{ProjectID: "p"}
		for range 2 { // the reconciler reads 100 pages of a board
			p, err := b.List(ctx, q)
			require.NoError(t, err)
			for _, i := range p.Items {
				require.False(t, seen[i.ID])
				seen[i.ID] = true
			}
			if q.Cursor = p.Next; q.Cursor == "" {
				break
			}
		}
		require.Len(t, seen, many)
		list, err := b.Cards(ctx, cards.Filter{Project: "p", Each: 20})
		require.NoError(t, err)
		require.Len(t, list, 20)
		require.Equal(t, []int{1, many}, []int{list[0].Place, list[0].Of})
		require.Equal(t, "card 1029", list[0].Title)
		list, err = b.Cards(ctx, cards.Filter{Project: "p", Number: 7})
		require.NoError(t, err)
		require.Len(t, list, 1)
		_, err = b.List(ctx, tracker.Query{ProjectID: "p", Cursor: "nonsense"})
		require.Error(t, err)
	})
}

// Numbers are given once although many make cards at the same time, from several processes;
// and the revision is another one after each change.
func TestManyAtOnce(t *testing.T) {
	inEach(t, func(t *testing.T, b *board.Board, o board.Options) {
		others := []*board.Board{b, open(t, o), open(t, o)}
		var mu sync.Mutex
		numbers := map[int64]bool{}
		before, err := b.Revision(t.Context())
		require.NoError(t, err)
		var wg sync.WaitGroup
		for n := range 12 {
			wg.Go(func() {
				c, _, err := others[n%3].Make(t.Context(), cards.New{Project: "p", Title: fmt.Sprint(n), By: kim})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				numbers[c.Number] = true
			})
		}
		wg.Wait()
		require.Len(t, numbers, 12)
		after, err := b.Revision(t.Context())
		require.NoError(t, err)
		require.NotEqual(t, before, after)
	})
}

// A move is behind the one before it, although the clock was set back.
func TestClockIsSetBack(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	b := open(t, board.Options{Path: filepath.Join(t.TempDir(), "x.db"), Now: func() time.Time { return now }})
	c := card(t, b, "one")
	now = now.Add(-time.Hour)
	e, err := b.Move(t.Context(), c.ID, "approved", kim)
	require.NoError(t, err)
	require.True(t, e.At.After(c.MovedAt))
	require.NoError(t, b.SetStatus(t.Context(), "p", c.ID, stage.StatusDone))
	i, err := b.Item(t.Context(), "p", c.ID)
	require.NoError(t, err)
	require.True(t, i.UpdatedAt.After(e.At))
}

// A database that does not answer is tried again; what the caller has ended is not.
func TestDatabaseIsAway(t *testing.T) {
	inEach(t, func(t *testing.T, _ *board.Board, o board.Options) {
		b, err := board.Open(t.Context(), o)
		require.NoError(t, err)
		c := card(t, b, "one")
		ended, end := context.WithCancel(t.Context())
		end()
		_, err = b.Item(ended, "p", c.ID)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, b.Close())
		for _, err := range []error{
			b.SetStatus(t.Context(), "p", c.ID, stage.StatusDone), b.Say(t.Context(), cards.Saying{ID: c.ID, Body: "x", By: kim}), b.Ping(t.Context()),
		} {
			require.Error(t, err)
			require.True(t, fault.Retryable(err), "%v", err)
		}
		_, err = b.Item(t.Context(), "p", c.ID)
		require.True(t, fault.Retryable(err), "%v", err)
		require.NotErrorIs(t, err, tracker.ErrNotFound, "nothing is said of the card")
		require.NotErrorIs(t, err, sql.ErrNoRows)
	})
}

func TestNames(t *testing.T) {
	name, err := cards.CleanName("  Kim \t Müller ")
	require.NoError(t, err)
	require.Equal(t, "Kim Müller", name)
	for _, wrong := range []string{"", " \n", cards.Service + "analyst", "a\u202eb", string(make([]rune, 61))} {
		_, err := cards.CleanName(wrong)
		var input *cards.InputError
		require.ErrorAs(t, err, &input, "%q", wrong)
	}
	b := open(t, board.Options{Path: filepath.Join(t.TempDir(), "x.db"), Page: "https://x.example.org/dashboard/board/cards"})
	require.Equal(t, "https://x.example.org/dashboard/board/cards/abc", b.ItemURL("p", "abc"))
	_, err = board.Open(t.Context(), board.Options{})
	require.Error(t, err)
}
