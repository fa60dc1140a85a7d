package postgres

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/internal/run"
)

// notes are the pools that other processes are notified of. NOTIFY is sent after
// the commit and for many commits at once, so that it holds up none.
type notes struct {
	mu    sync.Mutex
	pools map[string]bool
	ready chan struct{}
}

func (n *notes) add(pools []string) {
	n.mu.Lock()
	for _, pool := range pools {
		n.pools[pool] = true
	}
	n.mu.Unlock()
	run.Hint(n.ready)
}

func (n *notes) take() (pools []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for pool := range n.pools {
		if len(pool) < noteMax {
			pools = append(pools, pool)
		}
	}
	clear(n.pools)
	return pools
}

// noteMax bounds a message: PostgreSQL refuses 8000 bytes.
const noteMax = 4000

// notify notifies other processes until the store is closed. A message that is lost
// costs them one interval of polling.
func (d *DB) notify(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.notes.ready:
		}
		_, err := d.pool.Exec(ctx, "select pg_notify($1, $2 || ' ' || p) from unnest($3::text[]) p", d.schema, d.me, texts(d.notes.take()))
		if err != nil && ctx.Err() == nil {
			d.log.Debug("a notification was not sent", "err", err)
		}
		if run.Sleep(ctx, run.Real{}, noteGap) != nil { // the first is sent at once, those after it together
			return
		}
	}
}

// noteGap is the least time between two messages.
const noteGap = 5 * time.Millisecond

// listen hints what other processes tell, until the store is closed.
func (d *DB) listen(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		begun := time.Now()
		err := d.hear(ctx)
		if ctx.Err() != nil {
			return
		}
		d.log.Debug("the listener connects again", "err", err)
		if time.Since(begun) > time.Minute {
			n = 0
		}
		_ = pause(ctx, n) // the loop ends with ctx
	}
}

// quiet is how long the listener waits before it checks that the server is
// still there.
const quiet = 30 * time.Second

func (d *DB) hear(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, d.config)
	if err != nil {
		return err
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(bye) // it only listened
	}()
	if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{d.schema}.Sanitize()); err != nil {
		return err
	}
	d.HintAll() // for notifications that came while nobody listened
	for {
		if err := d.next(ctx, conn); err != nil {
			return err
		}
	}
}

func (d *DB) next(ctx context.Context, conn *pgx.Conn) error {
	wait, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	note, err := conn.WaitForNotification(wait)
	if err != nil && wait.Err() != nil && ctx.Err() == nil && !conn.IsClosed() {
		ask, cancel := context.WithTimeout(ctx, quiet)
		defer cancel()
		return conn.Ping(ask)
	}
	if err != nil {
		return err
	}
	if from, pool, ok := strings.Cut(note.Payload, " "); ok && from != d.me {
		d.Hint(pool)
	}
	return nil
}
