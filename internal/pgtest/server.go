package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"
)

// Options of a server.
type Options struct {
	// Durable keeps fsync, synchronous_commit and full_page_writes on: for
	// measurements, and for tests that stop the server in the middle.
	Durable bool
}

// Server is a PostgreSQL that belongs to one test.
type Server struct {
	dir, bin string
	flags    []string
	as       *syscall.Credential // nil = ourselves
	cmd      *exec.Cmd           // the running server, nil when it is stopped
	life     *os.File            // the watcher stops everything when this closes
	watcher  *exec.Cmd
}

// Start starts a server of its own for one test, from the installed programs.
// It ends with the test.
func Start(t TB, o Options) *Server {
	t.Helper()
	s, err := boot(o.Durable)
	if err != nil {
		end(t, err)
		return nil
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("pgtest: the end of the server's log:\n" + s.tail())
		}
		s.end()
	})
	return s
}

// URL is the address of a database of the server.
func (s *Server) URL(database string) string {
	return "postgres:///" + database + "?" + url.Values{"host": {s.dir}, "user": {"postgres"}, "sslmode": {"disable"}}.Encode()
}

// follow starts a standby of the server, without whose word nothing is committed on it any more.
func (s *Server) follow(t TB) (*Server, error) {
	f := &Server{bin: s.bin, as: s.as, flags: s.flags}
	err := s.exec(`alter system set synchronous_standby_names = '*'`)
	if err == nil {
		f.dir, err = os.MkdirTemp(base(true), "pgt")
	}
	if err == nil && f.as != nil {
		err = os.Chown(f.dir, int(f.as.Uid), int(f.as.Gid))
	}
	if err == nil {
		err = f.watch()
	}
	if err != nil {
		return nil, err
	}
	t.Cleanup(f.end)
	err = f.command("pg_basebackup", "-d", s.URL("postgres"), "-D", filepath.Join(f.dir, "data"), "-R", "--checkpoint=fast").Run()
	if err == nil {
		err = f.run()
	}
	return f, errors.Join(err, s.exec(`select pg_reload_conf()`))
}

func (s *Server) exec(statement string) error {
	return admin(s.URL("postgres"), func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, statement)
		return err
	})
}

// Kill stops the server as a crash does: open transactions are gone, what was
// committed is recovered by Restart.
func (s *Server) Kill() error {
	if s.cmd == nil {
		return nil
	}
	err := s.cmd.Process.Signal(syscall.SIGQUIT)
	_ = s.cmd.Wait() // its exit code says no more than that it was killed
	s.cmd = nil
	return err
}

// Restart starts a server again that was killed.
func (s *Server) Restart() error {
	if err := s.Kill(); err != nil {
		return err
	}
	return s.run()
}

// end leaves nothing behind.
func (s *Server) end() {
	_ = s.life.Close()
	if s.cmd != nil {
		_ = s.cmd.Wait()
	}
	_ = s.watcher.Wait()
}

func boot(durable bool) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, flags: []string{"-c", "listen_addresses=", "-c", "max_connections=200"}}
	if !durable {
		s.flags = append(s.flags, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	}
	if s.as, err = unprivileged(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp(base(durable), "pgt"); err != nil {
		return nil, err
	}
	if s.as != nil {
		if err := os.Chown(s.dir, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return nil, errors.Join(err, os.RemoveAll(s.dir))
		}
	}
	if err := s.watch(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	if err := s.initdb(); err != nil {
		s.end()
		return nil, err
	}
	if err := s.run(); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// base is where servers live: in memory when there is room, for the disk
// decides how long a test takes; on disk when what is written must count. The
// path of a socket may not be long.
func base(durable bool) string {
	var fs unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &fs); !durable && err == nil && fs.Bavail*uint64(fs.Bsize) >= 1<<30 {
		return "/dev/shm"
	}
	if dir := os.TempDir(); len(dir) < 40 {
		return dir
	}
	return "/tmp"
}

// unprivileged returns the account of PostgreSQL when we are root.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(uidErr, gidErr)
	}
	return nil, errors.New("pgtest: PostgreSQL does not run as root, " +
		"and there is neither a user postgres nor nobody: add one (useradd postgres)")
}

// watchScript waits until the pipe breaks, then stops what runs and removes the
// directory. A server that nobody waits for stays a zombie in some containers,
// so the wait is bounded.
const watchScript = `trap "" INT TERM HUP
read -r _
for f in "$0/initdb.pid" "$0/data/postmaster.pid"; do
  [ -f "$f" ] || continue
  pid=$(head -n 1 "$f")
  case "$f" in */initdb.pid) kill -KILL -- "-$pid";; *) kill -QUIT "$pid";; esac
  n=0
  while kill -0 "$pid" && [ $n -lt 100 ]; do sleep 0.05; n=$((n+1)); done
done
rm -rf "$0"`

// watch starts the watcher, out of reach of Ctrl-C and of the test's output.
func (s *Server) watch() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	s.watcher = exec.Command("sh", "-c", watchScript, s.dir)
	s.watcher.Dir = "/"
	s.watcher.Stdin = r
	s.watcher.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	s.life = w
	return errors.Join(s.watcher.Start(), r.Close())
}

func (s *Server) command(program string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, program), args...)
	c.Dir = s.dir
	c.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.as}
	return c
}

func (s *Server) initdb() error {
	c := s.command("initdb", "-D", filepath.Join(s.dir, "data"), "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--no-locale", "-N", "--no-instructions")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		return fmt.Errorf("pgtest: initdb: %w", err)
	}
	note := filepath.Join(s.dir, "initdb.pid")
	noteErr := os.WriteFile(note, []byte(strconv.Itoa(c.Process.Pid)), 0o644)
	if err := c.Wait(); err != nil {
		return fmt.Errorf("pgtest: initdb: %w: %s", err, out.String())
	}
	return errors.Join(noteErr, os.Remove(note))
}

// bootTime is how long a server may take to answer: recovery after a crash on a
// busy disk included.
const bootTime = time.Minute

func (s *Server) run() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = s.command("postgres", append([]string{"-D", filepath.Join(s.dir, "data"), "-k", s.dir}, s.flags...)...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return fmt.Errorf("pgtest: postgres: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), bootTime)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := pgx.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return c.Close(ctx)
		}
		var dead unix.WaitStatus
		if pid, _ := unix.Wait4(s.cmd.Process.Pid, &dead, unix.WNOHANG, nil); pid != 0 || ctx.Err() != nil {
			s.cmd = nil
			return fmt.Errorf("pgtest: postgres did not come up: %w\n%s", err, s.tail())
		}
		<-tick.C
	}
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

func (s *Server) tail() string {
	b, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
