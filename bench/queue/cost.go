package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
)

// cost is what has been used so far.
type cost struct {
	wal    int64
	server time.Duration // CPU of the server and its connections, gone ones too
	client time.Duration // CPU of this process
}

func (c cost) minus(d cost) cost {
	return cost{c.wal - d.wal, c.server - d.server, c.client - d.client}
}

// spent reads the costs of a server on this machine.
func spent(ctx context.Context, server *pgtest.Server) (c cost, err error) {
	conn, err := pgx.Connect(ctx, server.URL("postgres"))
	if err != nil {
		return c, err
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := conn.QueryRow(ctx, "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").Scan(&c.wal); err != nil {
		return c, err
	}
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return c, err
	}
	c.client = time.Duration(use.Utime.Nano() + use.Stime.Nano())
	c.server, err = server.Spent()
	return c, err
}

// each tells the costs of a job.
func (c cost) each(n int) string {
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(n) }
	return fmt.Sprintf("%d B, %.0f us server, %.0f us program", c.wal/int64(n), per(c.server), per(c.client))
}
