package sqlite

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/internal/sqlstore"
)

// emptyPages is how many empty pages one call of Pruner gives back to the file system.
const emptyPages = 250

// PruneJobs implements task.Pruner.
func (d *DB) PruneJobs(ctx context.Context, before time.Time, after int64, limit int) (removed int, next int64, err error) {
	removed, next, err = d.Store.PruneJobs(ctx, before, after, limit)
	return removed, next, errors.Join(err, d.shrink(ctx))
}

// PruneDeliveries implements task.Pruner.
func (d *DB) PruneDeliveries(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	removed, err = d.Store.PruneDeliveries(ctx, before, limit)
	return removed, errors.Join(err, d.shrink(ctx))
}

// shrink gives empty pages back, in a file that was made for it.
func (d *DB) shrink(ctx context.Context) error {
	return d.Alone(ctx, func(*sqlstore.Tx) error {
		rows, err := d.conn.QueryContext(context.WithoutCancel(ctx), "pragma incremental_vacuum("+strconv.Itoa(emptyPages)+")")
		if err != nil {
			return err
		}
		for rows.Next() { // each step gives one page back
		}
		return errors.Join(rows.Err(), rows.Close())
	})
}
