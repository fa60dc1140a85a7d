package main

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
)

// claims compares claiming and finishing by the number of workers, and what a job
// costs.
func claims(ctx context.Context, l *lab) error {
	r, err := newRivers(ctx, l.url)
	if err != nil {
		return err
	}
	defer r.pool.Close()
	for _, c := range []struct {
		workers, ours, theirs int // jobs in a second, about
		goal                  float64
	}{{1, 1800, 300, 5}, {8, 9000, 2500, 2}, {50, 25_000, 10_000, 1.8}, {2000, 45_000, 25_000, 3}} {
		ours, theirs := int(float64(c.ours)*l.seconds), int(float64(c.theirs)*l.seconds)
		rates, costs, err := l.costly(ctx,
			func() (float64, error) { return l.once(ctx, c.workers, ours, 1) },
			func() (float64, error) { return r.work(ctx, c.workers, theirs) },
			func() (float64, error) { return l.once(ctx, c.workers, ours, 4) })
		if err != nil {
			return err
		}
		l.table.row(fmt.Sprintf("claim + finish, %d workers (ours gated)", c.workers), spread(rates[0], "/s"), "River "+spread(rates[1], "/s"), ratio(rates[0], rates[1]), c.goal)
		l.table.row(fmt.Sprintf("the same, four jobs of each task: each end opens the next, %d workers", c.workers), spread(rates[2], "/s"), "River "+spread(rates[1], "/s"), ratio(rates[2], rates[1]), 0)
		if c.workers >= 50 {
			l.table.row(fmt.Sprintf("a job put, claimed and finished, %d workers: WAL and CPU", c.workers),
				costs[0].each(ours*l.rounds), "River "+costs[1].each(theirs*l.rounds), 0, 0)
		}
	}
	return nil
}

// once works gated jobs off in a store that has nothing else.
func (l *lab) once(ctx context.Context, workers, n, each int) (float64, error) {
	db, end, err := l.fresh(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	return work(ctx, db, workers, n, each)
}

// costly is inTurns that adds up what each has cost.
func (l *lab) costly(ctx context.Context, each ...func() (float64, error)) ([][]float64, []cost, error) {
	costs := make([]cost, len(each))
	metered := make([]func() (float64, error), len(each))
	for i, f := range each {
		metered[i] = func() (float64, error) {
			before, err := spent(ctx, l.server)
			if err != nil {
				return 0, err
			}
			v, err := f()
			if err != nil {
				return 0, err
			}
			after, err := spent(ctx, l.server)
			d := after.minus(before)
			costs[i] = cost{costs[i].wal + d.wal, costs[i].server + d.server, costs[i].client + d.client}
			return v, err
		}
	}
	rates, err := inTurns(l.rounds, metered...)
	return rates, costs, err
}

// blocked compares stores that have more and more jobs that cannot run.
func blocked(ctx context.Context, l *lab) error {
	var each []func() (float64, error)
	for _, n := range l.blocked {
		db, end, err := l.fresh(ctx)
		if err != nil {
			return err
		}
		defer end()
		if err := block(ctx, db, n); err != nil {
			return err
		}
		each = append(each, func() (float64, error) { return work(ctx, db, 50, int(20_000*l.seconds), 1) })
	}
	if err := l.exec(ctx, "vacuum analyze"); err != nil {
		return err
	}
	return l.flat("50 workers", each)
}

// starts compares the time from insert to start.
func starts(ctx context.Context, l *lab) error {
	r, err := newRivers(ctx, l.url)
	if err != nil {
		return err
	}
	defer r.pool.Close()
	db, end, err := l.fresh(ctx)
	if err != nil {
		return err
	}
	defer end()
	ms := func(d time.Duration, err error) (float64, error) { return d.Seconds() * 1000, err }
	took, err := inTurns(l.rounds,
		func() (float64, error) { return ms(ourStart(ctx, db, l.starts)) },
		func() (float64, error) { return ms(r.start(ctx, l.starts)) })
	if err != nil {
		return err
	}
	l.table.row("insert to start, p50, one idle worker", spread(took[0], " ms"), "River "+spread(took[1], " ms"), ratio(took[1], took[0]), 1)
	return nil
}

// stages compares the move of a task with completing and inserting, and with all that
// it does done on River.
func stages(ctx context.Context, l *lab) error {
	r, err := newRivers(ctx, l.url)
	if err != nil {
		return err
	}
	defer r.pool.Close()
	const workers = 50
	if err := r.tables(ctx, workers*2); err != nil {
		return err
	}
	rates, err := inTurns(l.rounds,
		func() (float64, error) {
			return l.with(ctx, func(db *postgres.DB) (float64, error) { return ourStages(ctx, db, workers, int(8000*l.seconds)) })
		},
		func() (float64, error) { return r.stages(ctx, workers, int(1500*l.seconds), r.next) },
		func() (float64, error) { return r.stages(ctx, workers, int(1000*l.seconds), r.move) },
		func() (float64, error) {
			return l.with(ctx, func(db *postgres.DB) (float64, error) { return ourNext(ctx, db, workers, int(16_000*l.seconds)) })
		})
	if err != nil {
		return err
	}
	theirs := "River, complete and insert " + spread(rates[1], "/s")
	l.table.row("stage transition, 50 workers (finish, task, journal, next job, 2 effects)", spread(rates[0], "/s"), theirs, ratio(rates[0], rates[1]), 10)
	l.table.row("the same beside River with the same task, journal, job and effects", spread(rates[0], "/s"), "River "+spread(rates[2], "/s"), ratio(rates[0], rates[2]), 0)
	l.table.row("finish and put the next job, as River does above, 50 workers", spread(rates[3], "/s"), theirs, ratio(rates[3], rates[1]), 0)
	return nil
}

func (l *lab) with(ctx context.Context, f func(*postgres.DB) (float64, error)) (float64, error) {
	db, end, err := l.fresh(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	return f(db)
}

// acks counts stored deliveries.
func acks(ctx context.Context, l *lab) error {
	rates, err := inTurns(l.rounds, func() (float64, error) {
		return l.with(ctx, func(db *postgres.DB) (float64, error) { return ourAcks(ctx, db, int(6000*l.seconds)) })
	})
	if err != nil {
		return err
	}
	l.table.row("webhooks stored with their job, 50 senders", spread(rates[0], "/s"), "2,500/s", median(rates[0])/2500, 1)
	return nil
}
