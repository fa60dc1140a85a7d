package service

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// A neighbour that names a moment is left alone until then.
func TestPersistWaitsForTheMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &Service{Log: slog.New(slog.DiscardHandler)}
		begun, tries := time.Now(), 0
		v.persist(t.Context(), "x", func(context.Context) error {
			if tries++; tries == 1 {
				return &fault.Error{Text: "429", Again: true, Wait: 7 * time.Minute}
			}
			return nil
		}, func(error) {})
		require.Equal(t, 7*time.Minute, time.Since(begun))
	})
}

// What fails at the start is tried for ever, whatever it fails with, ever more
// seldom but at least twice a minute.
func TestPersist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		v := &Service{Log: slog.New(slog.NewTextHandler(&log, nil))}
		var at []time.Time
		var results []string
		v.persist(t.Context(), "x", func(context.Context) error {
			switch at = append(at, time.Now()); {
			case len(at) == 1:
				panic("boom")
			case len(at) < 1000:
				return errors.New("401")
			default:
				return nil
			}
		}, func(err error) {
			if err != nil && (len(results) == 0 || results[len(results)-1] != err.Error()) {
				results = append(results, err.Error())
			}
		})
		require.Len(t, at, 1000)
		wait := at[1].Sub(at[0])
		require.Less(t, wait, time.Second)
		for i := 2; i < len(at); i++ {
			next := at[i].Sub(at[i-1])
			require.Equal(t, min(2*wait, 30*time.Second), next)
			wait = next
		}
		require.Len(t, results, 2)
		require.Equal(t, 2, strings.Count(log.String(), "level=WARN"), "the same failure is logged once")
	})
}

// sore is a store whose holds cannot be read for a while.
type sore struct {
	Store
	fails atomic.Int64
}

func (s *sore) Holds(ctx context.Context) ([]queue.Hold, error) {
	if s.fails.Add(-1) >= 0 {
		return nil, errors.New("the connection was lost")
	}
	return s.Store.Holds(ctx)
}

// A store that fails at the start costs a while: what features held is let go then.
func TestLetGoIsTriedAgain(t *testing.T) {
	db := opened(t)
	defer db.Close()
	require.NoError(t, db.Hold(t.Context(), queue.Hold{Subject: "s", Name: serialgate.Name}))
	s := &sore{Store: db}
	s.fails.Store(1)
	v := &Service{opt: Options{Store: s, Features: &Features{}}, Log: slog.New(slog.DiscardHandler)}
	v.persist(t.Context(), "let go", v.letGo, func(error) {})
	held, err := db.Holds(t.Context())
	require.NoError(t, err)
	require.Empty(t, held)
}

// A board that lacks To Analyse is named, with what to do; one that cannot be read
// is not, and stays what it was.
func TestBoards(t *testing.T) {
	projects, err := task.NewProjects(
		task.Project{TrackerProject: "p", Repo: "acme/app", CloneURL: "u", Prefix: "APP"},
		task.Project{TrackerProject: "q", Repo: "acme/oth", CloneURL: "u", Prefix: "OTH"})
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		board := memtracker.New(nil)
		b := newBoards(board, projects, slog.New(slog.NewTextHandler(&log, nil)))
		board.FailWith(errors.New("502"))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); b.watch(ctx) }()
		pass := func(d time.Duration) string {
			time.Sleep(d)
			synctest.Wait()
			if err := b.incomplete(ctx); err != nil {
				return err.Error()
			}
			return ""
		}
		require.Empty(t, pass(time.Minute), "nobody has seen the boards")
		require.NotContains(t, log.String(), "level=ERROR")
		board.AddProject("p", stage.StatusInProgress, stage.StatusDone)
		board.AddProject("q")
		board.FailWith(nil)
		want := "the board of APP (acme/app, tracker project p) has no column To Analyse, so no card can begin there: add a column of that name to it"
		require.Equal(t, want, pass(5*time.Minute))
		require.Equal(t, want, pass(5*time.Hour))
		require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), "it is logged once")
		board.FailWith(errors.New("502"))
		require.Equal(t, want, pass(2*time.Hour), "as it was")
		board.FailWith(nil)
		board.AddProject("p")
		require.Empty(t, pass(time.Hour))
		stop()
		<-ended
	})
}

func opened(t *testing.T) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "x.db")})
	require.NoError(t, err)
	return db
}
