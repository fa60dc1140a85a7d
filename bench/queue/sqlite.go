package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"maragu.dev/goqite"
	_ "modernc.org/sqlite" // the driver, for goqite

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
)

// sqlites compares claims on files with synchronous=FULL, and ours with more and
// more jobs that cannot run.
func sqlites(ctx context.Context, l *lab) error {
	// The numbers are jobs in a second, about. River tells of completed jobs each
	// quarter of a second: of fewer jobs than it works off in that time, none of the
	// rate would be its own.
	const workers = 50
	var each []func() (float64, error)
	for _, n := range l.blocked {
		db, err := sqlite.Open(ctx, sqlite.Options{Path: l.file()})
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		if err := block(ctx, db, n); err != nil {
			return err
		}
		each = append(each, func() (float64, error) { return work(ctx, db, workers, int(40_000*l.seconds), 1) })
	}
	others := []func() (float64, error){each[0], func() (float64, error) { return l.goqite(ctx, workers, int(1500*l.seconds)) }}
	if l.riverSQLite != "" {
		others = append(others, func() (float64, error) { return l.river(ctx, workers, int(5500*l.seconds)) })
	}
	rates, err := inTurns(min(l.rounds, 3), others...)
	if err != nil {
		return err
	}
	l.table.row("SQLite, FULL, claim + finish, 50 workers (ours gated)", spread(rates[0], "/s"), "goqite "+spread(rates[1], "/s"), ratio(rates[0], rates[1]), 10)
	if l.riverSQLite != "" {
		l.table.row("the same", spread(rates[0], "/s"), "River "+spread(rates[2], "/s"), ratio(rates[0], rates[2]), 10)
	} else {
		l.table.row("the same", spread(rates[0], "/s"), "River's SQLite driver: not had", 0, 10)
	}
	return l.flat("SQLite, 50 workers", each)
}

// flat compares stores that have more and more jobs that cannot run, the first of
// which has none. A tenth is to be told here, and three stores without such jobs
// differ by more in the median of five rounds: there are more of them.
func (l *lab) flat(what string, each []func() (float64, error)) error {
	rates, err := inTurns(2*l.rounds+1, each...)
	if err != nil {
		return err
	}
	for i, n := range l.blocked[1:] {
		l.table.row(fmt.Sprintf("%s, %d jobs that cannot run", what, n), spread(rates[i+1], "/s"), "none blocked "+spread(rates[0], "/s"), ratio(rates[i+1], rates[0]), 0.9)
	}
	return nil
}

func (l *lab) file() string {
	l.rowed++
	return filepath.Join(l.dir, fmt.Sprintf("%d.db", l.rowed))
}

// goqite receives and deletes messages, with the connection that it asks for.
func (l *lab) goqite(ctx context.Context, workers, n int) (rate float64, err error) {
	db, err := sql.Open("sqlite", l.file()+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if err := goqite.Setup(ctx, db); err != nil {
		return 0, err
	}
	q := goqite.New(goqite.NewOpts{DB: db, Name: "p"})
	if err := send(ctx, db, q, n); err != nil {
		return 0, err
	}
	g := newGauge(n)
	var wg sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			for {
				m, err := q.Receive(ctx)
				if err == nil && m != nil {
					err = q.Delete(ctx, m.ID)
				}
				if err != nil || m == nil {
					errs[w] = err
					return
				}
				g.add(1)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	return g.wait(ctx)
}

func send(ctx context.Context, db *sql.DB, q *goqite.Queue, n int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for range n {
		if err := q.SendTx(ctx, tx, goqite.Message{Body: []byte(`{"n":1}`)}); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

// river asks the program that measures River's SQLite driver, which needs other
// versions of River's modules.
func (l *lab) river(ctx context.Context, workers, n int) (float64, error) {
	out, err := exec.CommandContext(ctx, l.riverSQLite, l.file(), strconv.Itoa(workers), strconv.Itoa(n)).Output()
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}
