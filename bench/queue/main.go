// Command queue measures the queue beside others on this machine, now: River on the
// same private PostgreSQL with durable settings, River and goqite on SQLite files with
// synchronous=FULL. A pair runs in turns (ours, theirs, ours, theirs), and its row has
// the medians of each side and of the ratios of the rounds: on a shared machine only
// ratios mean much.
//
// It is a module of its own, so that what it compares with is no dependency of
// anything else.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

func main() {
	quick := flag.Bool("quick", false, "fewer and shorter rounds, 100,000 blocked jobs: about two minutes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	l := &lab{rounds: 5, seconds: 1.2, blocked: 1_000_000}
	if *quick {
		l.rounds, l.seconds, l.blocked = 3, 0.8, 100_000
	}
	err := l.measure(ctx)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// lab holds what the measurements share.
type lab struct {
	server  *pgtest.Server
	admin   *pgxpool.Pool // of the server
	dir     string        // for files
	rounds  int
	seconds float64 // that a round should take, about
	blocked int     // jobs that cannot run
	failed  error   // of rows
}

// measure prints the table. An error of one row does not keep the others.
func (l *lab) measure(ctx context.Context) (err error) {
	if l.dir, err = os.MkdirTemp("", "bench-queue"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(l.dir)) }()
	l.server = pgtest.Start(&pgtest.Scratch{}, pgtest.Options{Durable: true})
	if l.admin, err = pgxpool.New(ctx, l.server.URL("postgres")); err != nil {
		return err
	}
	defer l.admin.Close()
	fmt.Println("| what | ours/s | theirs/s | ratio | goal |\n|---|---|---|---|---|")
	for _, c := range []struct {
		workers, ours, theirs int // ours and theirs: jobs in a second, about
		goal                  float64
	}{{1, 1500, 300, 2}, {8, 7000, 2500, 2}, {50, 18_000, 12_000, 1.8}, {2000, 27_000, 25_000, 1.5}} {
		l.compare(ctx, l.rounds, fmt.Sprintf("claim and finish, %d workers, ours gated; River ungated", c.workers), c.goal,
			on(l, l.postgres, work, c.workers, c.ours), on(l, l.riverPool, riverClaims, c.workers, c.theirs))
	}
	l.compare(ctx, l.rounds, "stage transition (finish, task, journal, next job, 2 effects), 50 workers; River: complete, insert", 4,
		on(l, l.postgres, moveTasks, 50, 5000), on(l, l.riverPool, riverTransitions, 50, 1500))
	l.compare(ctx, l.rounds, "webhooks stored with their job, 50 senders; what is asked for", 1,
		on(l, l.postgres, receive, 50, 10_000), func(context.Context) (float64, error) { return 3000, nil })
	l.compare(ctx, l.rounds, "SQLite, claim and finish, 50 workers, ours gated; goqite", 10,
		on(l, l.sqlite, work, 50, 20_000), on(l, l.peerFile, goqiteClaims, 50, 2000))
	// River reports each quarter of a second which jobs are done: with fewer jobs than it
	// ends in that time, the rate would not be its own.
	l.compare(ctx, l.rounds, "SQLite, claim and finish, 50 workers, ours gated; River ungated", 5,
		on(l, l.sqlite, work, 50, 20_000), on(l, l.peerFile, riverFileClaims, 50, 5500))
	err = errors.Join(l.besideBlocked(ctx, "PostgreSQL", l.postgres, 15_000), l.besideBlocked(ctx, "SQLite", l.sqlite, 20_000))
	return errors.Join(l.failed, err)
}

// compare prints the row of a pair.
func (l *lab) compare(ctx context.Context, rounds int, what string, goal float64, ours, theirs measure) {
	var mine, other, ratios []float64
	for range rounds {
		a, ourErr := ours(ctx)
		b, theirErr := theirs(ctx)
		if err := errors.Join(ourErr, theirErr); err != nil {
			l.failed = errors.Join(l.failed, fmt.Errorf("%s: %w", what, err))
			return
		}
		mine, other, ratios = append(mine, a), append(other, b), append(ratios, a/b)
	}
	fmt.Printf("| %s | %.0f | %.0f | %.2f | >= %g |\n", what, median(mine), median(other), median(ratios), goal)
}

func median(list []float64) float64 {
	s := slices.Sorted(slices.Values(list))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// besideBlocked compares a store that has blocked jobs with one that has none. A tenth is to
// be seen here, and two stores that have none differ by more in few rounds.
func (l *lab) besideBlocked(ctx context.Context, name string, open opener[store], second int) error {
	var sides [2]measure
	for i, blocked := range []int{l.blocked, 0} {
		db, end, err := open(ctx)
		if err != nil {
			return err
		}
		defer end()
		if err := block(ctx, db, blocked); err != nil {
			return err
		}
		sides[i] = on(l, func(context.Context) (store, func(), error) { return db, func() {}, nil }, work, 50, second)
	}
	l.compare(ctx, 2*l.rounds+1, fmt.Sprintf("%s, 50 workers, %d blocked jobs; none blocked", name, l.blocked), 0.9, sides[0], sides[1])
	return nil
}

// measure returns how many jobs were ended in a second.
type measure func(context.Context) (float64, error)

// opener opens something that has nothing yet; end removes it.
type opener[T any] func(context.Context) (on T, end func(), err error)

// on measures how many jobs so many workers end in a second, with about as many jobs as
// they end while a round lasts.
func on[T any](l *lab, open opener[T], f func(ctx context.Context, on T, workers, n int) (float64, error), workers, second int) measure {
	return func(ctx context.Context) (float64, error) {
		on, end, err := open(ctx)
		if err != nil {
			return 0, err
		}
		defer end()
		return f(ctx, on, workers, int(float64(second)*l.seconds))
	}
}

// database makes a database, and returns its URL.
func (l *lab) database(ctx context.Context) (url string, drop func(), err error) {
	name := "bench_" + strings.ToLower(rand.Text())
	_, err = l.admin.Exec(ctx, "create database "+name)
	return l.server.URL(name), func() { _, _ = l.admin.Exec(context.WithoutCancel(ctx), "drop database "+name+" with (force)") }, err
}

// file names a file.
func (l *lab) file() string { return l.dir + "/" + rand.Text() + ".db" }

// gauge takes the moments at which jobs end.
type gauge chan time.Time

func (g gauge) add() {
	select {
	case g <- time.Now():
	default: // there are enough
	}
}

// open reports whether there are jobs to end.
func (g gauge) open() bool { return len(g) < cap(g) }

// rate waits for all jobs and returns how many were ended in a second, between the first
// tenth and the last, so that neither the start of workers nor the last jobs count.
func (g gauge) rate(ctx context.Context) (float64, error) {
	ends := make([]time.Time, cap(g))
	for i := range ends {
		select {
		case ends[i] = <-g:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	from, to := len(ends)/10, len(ends)*9/10
	return float64(to-from) / ends[to].Sub(ends[from]).Seconds(), nil
}

// crowd has workers end n jobs together, each until the gauge is no longer open.
func crowd(ctx context.Context, workers, n int, worker func(context.Context, gauge) error) (float64, error) {
	g := make(gauge, n)
	group, together := errgroup.WithContext(ctx)
	for range workers {
		group.Go(func() error { return worker(together, g) })
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	return g.rate(ctx)
}
