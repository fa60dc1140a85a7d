package sqlstore_test

import (
	"errors"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/internal/sqlstore"
)

func stores(t *testing.T) map[string]*sqlstore.Store {
	t.Helper()
	file, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "x.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	server, err := postgres.Open(t.Context(), postgres.Options{URL: pgtest.Open(t), AllowUnsafe: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return map[string]*sqlstore.Store{"sqlite": file.Store, "postgres": server.Store}
}

// together has the store carry out requests as one group, in this order, and returns their errors.
func together(t *testing.T, s *sqlstore.Store, requests ...func() error) []error {
	t.Helper()
	busy, free := make(chan struct{}), make(chan struct{})
	answers := make([]chan error, len(requests)+1)
	hand := func(i int, request func() error) {
		answers[i] = make(chan error, 1)
		go func() { answers[i] <- request() }()
	}
	hand(0, func() error {
		return s.Alone(t.Context(), func(*sqlstore.Tx) error { close(busy); <-free; return nil })
	})
	<-busy
	for i, request := range requests {
		hand(i+1, request)
		for s.HandedIn() <= i {
			runtime.Gosched()
		}
	}
	close(free)
	var out []error
	for _, answer := range answers {
		out = append(out, <-answer)
	}
	require.NoError(t, out[0])
	return out[1:]
}

// may be decided otherwise, as when another process comes between: nobody is refused for a lease that nobody has.
func TestRefusedByWhatNeverWas(t *testing.T) {
	changed := errors.New("another process came between")
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			times := 0
			errs := together(t, s,
				func() error {
					return s.Alone(t.Context(), func(tx *sqlstore.Tx) error {
						if times++; times > 1 {
							return changed
						}
						tx.Queue(nil, "insert into ~leases (name, holder, epoch, expires) values ('main', 'ghost', 1, $1)", tx.Now.Add(time.Hour))
						return nil
					})
				},
				func() error { _, err := s.Leases().Acquire(t.Context(), "main", "me", time.Hour); return err },
			)
			require.ErrorIs(t, errs[0], changed)
			require.NoError(t, errs[1])
			held, ok, err := s.Leases().Holder(t.Context(), "main")
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, "me", held.Holder)
		})
	}
}
