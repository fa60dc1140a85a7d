// Package pgtest gives a test a real PostgreSQL of its own.
//
// Open takes the server that TEST_DATABASE_URL names, or starts one: of the programs in
// PGTEST_BINDIR, the newest that Debian has installed, or those of the PATH, on a Unix socket in a
// directory of its own, once for all tests of a process. With none of them the test is skipped, and
// says what to install.
//
// A server that was started ends with the process, however that ends: a child
// that holds a pipe of the process stops the server and removes its directory
// when the pipe breaks. PostgreSQL refuses to run as root, so for root it is
// run as the user postgres, or nobody.
//
// The servers here must not be trusted with data: unless asked otherwise they
// run with fsync=off.
package pgtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// TB is the part of testing.TB that is needed here.
type TB interface {
	Helper()
	Cleanup(func())
	Fatal(args ...any)
	Failed() bool
	Log(args ...any)
}

// Scratch is the TB of an example or a program, which has none.
type Scratch struct{ cleanups []func() }

func (s *Scratch) Helper()          {}
func (s *Scratch) Failed() bool     { return false }
func (s *Scratch) Log(...any)       {}
func (s *Scratch) Fatal(a ...any)   { fmt.Fprintln(os.Stderr, a...); runtime.Goexit() }
func (s *Scratch) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

// End cleans up.
func (s *Scratch) End() {
	for _, f := range s.cleanups {
		f()
	}
}

// SkipExamples leaves out examples where PostgreSQL is missing: they cannot skip themselves. It is for TestMain.
func SkipExamples() {
	if _, err := binaries(); errors.Is(err, errMissing) && os.Getenv("TEST_DATABASE_URL") == "" {
		flag.Parse() // or what is set here is overwritten
		_ = flag.Set("test.skip", "^Example")
	}
}

// Open returns the URL of an empty database that is dropped when the test ends.
// The server is shared by all tests of the process.
func Open(t TB) string {
	t.Helper()
	server, err := shared.url()
	if err != nil {
		end(t, err)
		return ""
	}
	return database(t, server)
}

// end ends a test that has no server: a machine without one has nothing to test.
func end(t TB, err error) {
	t.Helper()
	if s, ok := t.(interface{ Skip(args ...any) }); ok && errors.Is(err, errMissing) {
		s.Skip(err)
		return
	}
	t.Fatal(err)
}

// process holds the server that the tests of one process share: a server takes a second to
// start, and a database of it is as private as a server.
type process struct {
	mu     sync.Mutex
	server *Server
}

var shared = process{}

func (p *process) url() (string, error) {
	if given := os.Getenv("TEST_DATABASE_URL"); given != "" {
		return given, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		s, err := boot(false)
		if err != nil {
			return "", err
		}
		p.server = s
	}
	return p.server.URL("postgres"), nil
}

// prefix begins the name of every database that is made here; the moment of its
// making follows, so that what a killed run left on a server that lives on is
// found.
const (
	prefix   = "signalbox_test_"
	leftover = 2 * time.Hour
)

func database(t TB, server string) string {
	t.Helper()
	name := fmt.Sprintf("%s%d_%d", prefix, time.Now().Unix(), rand.Uint64())
	err := admin(server, func(ctx context.Context, c *pgx.Conn) error {
		if err := sweep(ctx, c, time.Now()); err != nil {
			return err
		}
		_, err := c.Exec(ctx, "create database "+name+" template template0 encoding 'UTF8'"+strategy(c))
		return err
	})
	if err != nil {
		t.Fatal("pgtest: a database cannot be made (TEST_DATABASE_URL must name a user with CREATEDB): " + err.Error())
		return ""
	}
	t.Cleanup(func() {
		err := admin(server, func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.Exec(ctx, "drop database if exists "+name+" with (force)")
			return err
		})
		if err != nil {
			t.Log("pgtest: the test's database stays behind: ", err)
		}
	})
	return in(server, name)
}

// strategy copies files: with fsync=off that is twice as fast as through the log.
func strategy(c *pgx.Conn) string {
	major, _, _ := strings.Cut(c.PgConn().ParameterStatus("server_version"), ".")
	if n, err := strconv.Atoi(major); err == nil && n >= 15 {
		return " strategy file_copy"
	}
	return ""
}

// in is the URL of another database of the same server.
func in(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Path = "/" + name
	return u.String()
}

func admin(server string, f func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }() // nothing is lost with it
	return f(ctx, c)
}

// sweep drops what a run that was killed long ago left behind.
func sweep(ctx context.Context, c *pgx.Conn, now time.Time) error {
	rows, err := c.Query(ctx, "select datname from pg_database where datname like $1", strings.ReplaceAll(prefix, "_", `\_`)+"%")
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range names {
		made, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "_")
		at, err := strconv.ParseInt(made, 10, 64)
		if err != nil || now.Sub(time.Unix(at, 0)) < leftover {
			continue
		}
		if _, err := c.Exec(ctx, "drop database if exists "+pgx.Identifier{name}.Sanitize()+" with (force)"); err != nil {
			return err
		}
	}
	return nil
}
