package run

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
)

// ErrUnfinished is that of work of which a part has ended by a panic.
var ErrUnfinished = errors.New("a part of the work has ended by a panic: the log says which")

// Start calls f with 0 to n-1, at the same time. wait returns when all calls have
// ended; its error reports that not all of them were made to the end. It must be called.
func Start(ctx context.Context, log *slog.Logger, name string, n int, f func(i int)) (wait func() error) {
	g := New(ctx, log)
	var done atomic.Int64
	for i := range n {
		g.Go(name, func(ctx context.Context) {
			if ctx.Err() == nil {
				f(i)
				done.Add(1)
			}
		})
	}
	return func() error {
		g.Wait()
		g.Stop()
		if err := ctx.Err(); err != nil {
			return err
		}
		if done.Load() < int64(n) {
			return ErrUnfinished
		}
		return nil
	}
}
