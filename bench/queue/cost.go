package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
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
func spent(ctx context.Context, url string) (c cost, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return c, err
	}
	defer func() { _ = conn.Close(ctx) }()
	var dir string
	if err := conn.QueryRow(ctx, "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint, current_setting('data_directory')").Scan(&c.wal, &dir); err != nil {
		return c, err
	}
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return c, err
	}
	c.client = time.Duration(use.Utime.Nano() + use.Stime.Nano())
	file, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	if err != nil {
		return c, err
	}
	master, _, _ := strings.Cut(string(file), "\n")
	c.server, err = family(master)
	return c, err
}

// family is the CPU time of a process and its children, dead ones too.
func family(master string) (sum time.Duration, err error) {
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range all {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		f := strings.Fields(rest)
		switch {
		case filepath.Base(filepath.Dir(name)) == master:
			sum += ticks(f[11:15]) // with those that it waited for
		case f[1] == master:
			sum += ticks(f[11:13])
		}
	}
	return sum, err
}

func ticks(list []string) (d time.Duration) {
	for _, s := range list {
		n, err := strconv.Atoi(s)
		if err == nil {
			d += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return d
}

// each tells the costs of a job.
func (c cost) each(n int) string {
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(n) }
	return fmt.Sprintf("%d B, %.0f us server, %.0f us program", c.wal/int64(n), per(c.server), per(c.client))
}
