package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
)

// Check is one part of readiness.
type Check struct {
	Name string
	// Ping looks whether the part works. Its error is logged, and shown only when it is a
	// Warning: others may name addresses and accounts.
	Ping func(context.Context) error
	// Warning makes a failure visible without making the service unready.
	Warning bool
}

// readyLimit is how long an answer about readiness may take.
const readyLimit = 5 * time.Second

var errLate = errors.New("no answer within 5 s")

// readiness answers whether the parts of the service work.
type readiness []*probe

func newReadiness(checks []Check, log *slog.Logger) readiness {
	var out readiness
	for _, c := range checks {
		out = append(out, &probe{Check: c, log: log})
	}
	return out
}

// readyz answers with the word, and the parts for those who read all repositories.
func (s *server) readyz(w http.ResponseWriter, r *http.Request) {
	p, err := s.Access.Identify(r)
	s.ready.serve(w, r, err == nil && p.Reads(""))
}

// serve looks at all parts together.
func (all readiness) serve(w http.ResponseWriter, r *http.Request, parts bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), readyLimit)
	defer cancel()
	looks := make([]*probeResult, len(all))
	for i, p := range all {
		looks[i] = p.read()
	}
	status, word := http.StatusOK, "ready"
	checks := map[string]string{}
	for i, p := range all {
		err := looks[i].wait(ctx)
		switch {
		case err == nil:
			checks[p.Name] = "ok"
		case p.Warning:
			checks[p.Name] = "warning: " + err.Error()
		default:
			checks[p.Name] = "does not work; the log says why"
			status, word = http.StatusServiceUnavailable, "not ready"
		}
		p.note(err)
	}
	out := map[string]any{"status": word}
	if parts {
		out["checks"] = checks
	}
	answer(w, status, out)
}

// probe looks at one part, once at a time: callers meanwhile wait for the same look.
type probe struct {
	Check
	log *slog.Logger

	mu   sync.Mutex
	now  *probeResult // nil: nobody looks
	said bool         // the log says that the part does not work
}

// probeResult is one look, which may take longer than anybody waits.
type probeResult struct {
	done chan struct{}
	err  error
}

func (l *probeResult) wait(ctx context.Context) error {
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
	}
	select {
	case <-l.done: // while another part was waited for
		return l.err
	default:
		return errLate
	}
}

// read begins to look, if nobody does.
func (p *probe) read() *probeResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != nil {
		return p.now
	}
	l := &probeResult{done: make(chan struct{}), err: errors.New("the look at it has panicked")}
	p.now = l
	run.New(context.Background(), p.log).Go("readiness of "+p.Name, func(ctx context.Context) {
		defer p.looked(l)
		ctx, cancel := context.WithTimeout(ctx, readyLimit)
		defer cancel()
		l.err = p.Ping(ctx)
	})
	return l
}

func (p *probe) looked(l *probeResult) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = nil
	close(l.done)
}

// note logs that a part has stopped working, with the details that are not shown, and
// that it works again.
func (p *probe) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.Warning || p.said == (err != nil):
		return
	case err != nil:
		p.log.Warn("a part of the service does not work", "part", p.Name, "err", err)
	default:
		p.log.Info("a part of the service works again", "part", p.Name)
	}
	p.said = err != nil
}
