package pgtest_test

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

// TestMain lets the test's own program be a process that dies.
func TestMain(m *testing.M) {
	if how := os.Getenv("PGTEST_VICTIM"); how != "" {
		die(how)
	}
	os.Exit(m.Run())
}

// tb is a test that never cleans up.
type tb struct{}

func (tb) Helper()        {}
func (tb) Cleanup(func()) {}
func (tb) Failed() bool   { return false }
func (tb) Log(...any)     {}
func (tb) Fatal(args ...any) {
	fmt.Println(args...)
	os.Exit(1)
}

func die(how string) {
	fmt.Println(pgtest.Open(tb{}))
	switch how {
	case "exit":
		os.Exit(0)
	case "panic":
		panic("on purpose")
	}
	select {}
}

// However the process of a test ends, its server goes and its directory with it.
func TestNothingStaysBehind(t *testing.T) {
	pgtest.Open(t) // skips it where PostgreSQL is missing
	t.Parallel()
	for how, signal := range map[string]syscall.Signal{"exit": 0, "panic": 0, "interrupt": syscall.SIGINT, "kill": syscall.SIGKILL} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), "PGTEST_VICTIM="+how, "TEST_DATABASE_URL=")
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewScanner(out)
			require.True(t, lines.Scan())
			u, err := url.Parse(lines.Text())
			require.NoError(t, err)
			dir := u.Query().Get("host")
			require.NotEmpty(t, dir, lines.Text())
			if signal != 0 {
				require.DirExists(t, dir)
				pid := postmaster(t, dir)
				require.True(t, alive(pid))
				require.NoError(t, cmd.Process.Signal(signal))
				defer func() { require.False(t, alive(pid)) }()
			}
			_ = cmd.Wait()
			require.Eventually(t, func() bool { _, err := os.Stat(dir); return os.IsNotExist(err) }, time.Minute, 10*time.Millisecond)
		})
	}
}

func postmaster(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	require.NoError(t, err)
	pid, _, _ := strings.Cut(string(b), "\n")
	return pid
}

// alive reports a process that is there and no zombie.
func alive(pid string) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// recorder is a test that fails without ending.
type recorder struct {
	tb
	cleanups []func()
	failed   string
	skipped  string
}

func (r *recorder) Cleanup(f func())  { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Fatal(args ...any) { r.failed = fmt.Sprint(args...) }
func (r *recorder) Skip(args ...any)  { r.skipped = fmt.Sprint(args...) }

func TestMissing(t *testing.T) {
	t.Setenv("PGTEST_BINDIR", t.TempDir())
	r := &recorder{}
	require.Nil(t, pgtest.Start(r, pgtest.Options{}))
	require.Contains(t, r.failed, "PGTEST_BINDIR: no initdb and postgres in")
	require.Empty(t, r.skipped)
	t.Setenv("PGTEST_BINDIR", "")
	t.Setenv("PATH", t.TempDir())
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) == 0 {
		require.Nil(t, pgtest.Start(r, pgtest.Options{}))
		require.Contains(t, r.skipped, "apt-get install -y postgresql")
	}
}

// A server that is given is used: each test has a database there, and it is
// dropped; so is what an old run left.
func TestGivenServer(t *testing.T) {
	s := pgtest.Start(t, pgtest.Options{})
	t.Setenv("TEST_DATABASE_URL", s.URL("postgres"))
	c, err := pgx.Connect(t.Context(), s.URL("postgres"))
	require.NoError(t, err)
	defer c.Close(t.Context())
	_, err = c.Exec(t.Context(), "create database signalbox_test_1000_old")
	require.NoError(t, err)
	_, err = c.Exec(t.Context(), "create database signalbox_test_is_mine")
	require.NoError(t, err)
	names := func() []string {
		rows, err := c.Query(t.Context(), "select datname from pg_database where datname like 'signalbox%' order by 1")
		require.NoError(t, err)
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return list
	}
	r := &recorder{}
	given := pgtest.Open(r)
	require.Empty(t, r.failed)
	require.Len(t, names(), 2)
	other, err := pgx.Connect(t.Context(), given)
	require.NoError(t, err)
	defer other.Close(t.Context())
	for _, f := range r.cleanups {
		f() // although somebody is connected
	}
	require.Equal(t, []string{"signalbox_test_is_mine"}, names())
}
