package historytest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Variables that a process of Clients finds in its environment.
const (
	EnvWhat   = "HISTORY_WHAT" // as given to Start
	EnvWhere  = "HISTORY_WHERE"
	envClient = "HISTORY_CLIENT"
)

// perProcess is how many clients a process has.
const perProcess = 2

// Main is a process of Clients: its clients call what f does, and the record goes
// to standard output. It ends the program with 1 when the record is not whole.
// A TestMain calls it when EnvWhat is set.
func Main(f func(ctx context.Context, log *Log)) {
	first, err := strconv.Atoi(os.Getenv(envClient))
	if err != nil {
		fmt.Fprintln(os.Stderr, envClient, err)
		os.Exit(1)
	}
	out := &writer{w: os.Stdout}
	errs := make([]error, perProcess)
	var wg sync.WaitGroup
	for n := range perProcess {
		wg.Go(func() {
			log := newLog(first+n, out)
			f(context.Background(), log)
			errs[n] = log.Err()
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(0)
}

// bound is how long the processes of a test may take together.
const bound = 5 * time.Minute

// Clients are processes that make a history together: each is the test's own
// program.
type Clients struct {
	t     *testing.T
	ctx   context.Context // ends at the bound
	where string
	next  int
	mu    sync.Mutex
	lines bytes.Buffer
}

// NewClients has no process yet. where names what they open.
func NewClients(t *testing.T, where string) *Clients {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	t.Cleanup(cancel)
	return &Clients{t: t, ctx: ctx, where: where, next: 1}
}

// Client is a process of Clients.
type Client struct {
	*exec.Cmd

	out  tail
	errs bytes.Buffer
}

// Start starts a process, which calls Main.
func (c *Clients) Start(what string) *Client {
	c.t.Helper()
	p := &Client{Cmd: exec.CommandContext(c.ctx, os.Args[0]), out: tail{to: c}}
	p.Env = append(os.Environ(), EnvWhat+"="+what, EnvWhere+"="+c.where, envClient+"="+strconv.Itoa(c.next))
	c.next += perProcess
	p.Stdout, p.Stderr = &p.out, &p.errs
	require.NoError(c.t, p.Cmd.Start())
	c.t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Cmd.Wait() })
	return p
}

// Kill ends a process as kill -9 does.
func (c *Clients) Kill(p *Client) {
	c.t.Helper()
	require.NoError(c.t, p.Process.Kill())
	_ = p.Wait() // it was killed
}

// Finish waits until processes have made all their calls.
func (c *Clients) Finish(ps ...*Client) {
	c.t.Helper()
	for _, p := range ps {
		err := p.Wait()
		require.NoError(c.t, err, "%s (of the %v that all processes have: %v); seen: %v", p.errs.String(), bound, c.ctx.Err(), c.seen())
	}
}

// seen counts the calls that have begun, by client.
func (c *Clients) seen() map[int]int64 {
	out := map[int]int64{}
	for _, call := range c.History() {
		out[call.Client] = max(out[call.Client], call.N)
	}
	return out
}

// More waits until n more lines have come.
func (c *Clients) More(n int) {
	c.t.Helper()
	require.True(c.t, c.more(n, time.Minute), "the clients make no progress in a minute; calls by client: %v", c.seen())
}

// more waits for n more lines, but not for longer than d.
func (c *Clients) more(n int, d time.Duration) bool {
	count := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return bytes.Count(c.lines.Bytes(), []byte("\n"))
	}
	want := count() + n
	for end := time.Now().Add(d); count() < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// Pause stops a process (SIGSTOP) while the others see n more lines. One that was
// stopped where the others have to wait for it, as a process that has locked a
// file, goes on and is stopped at another moment. resume lets it go on.
func (c *Clients) Pause(p *Client, n int) (resume func()) {
	c.t.Helper()
	for range 30 {
		require.NoError(c.t, p.Process.Signal(syscall.SIGSTOP))
		going := c.more(n, 2*time.Second)
		resume = func() { require.NoError(c.t, p.Process.Signal(syscall.SIGCONT)) }
		if going {
			return resume
		}
		resume()
		c.more(1+n/100, time.Second)
	}
	require.Fail(c.t, "the others make no progress while one is paused")
	return nil
}

// Log is the log of one more client, in this process.
func (c *Clients) Log() *Log {
	c.next++
	return newLog(c.next-1, &tail{to: c})
}

// History returns what all have seen.
func (c *Clients) History() []Call {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	history, err := Read(bytes.NewReader(c.lines.Bytes()))
	require.NoError(c.t, err)
	return history
}

// tail passes whole lines on: those of several processes do not mix, and what a
// kill cut off is dropped.
type tail struct {
	to   *Clients
	rest []byte
}

func (w *tail) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	end := bytes.LastIndexByte(w.rest, '\n') + 1
	w.to.mu.Lock()
	defer w.to.mu.Unlock()
	w.to.lines.Write(w.rest[:end])
	w.rest = append([]byte(nil), w.rest[end:]...)
	return len(p), nil
}
