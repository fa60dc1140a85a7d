package dashboard

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/documents"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// Streams of GET /changes at a time, and of one sender or one principal.
const listenersAll, listenersEach = 200, 20

// pulse is the revision of what the pages show: it changes when the journal, the
// queue, what is held, a warning, a card that got no task or our own board changes. All streams share one reading, so that a hundred
// of them cost what one costs.
type pulse struct {
	mu   sync.Mutex
	at   time.Time
	rev  string
	of   string                 // the revision that line was read at
	line []task.Task            // that wait for a person's word
	left []orchestrator.Refusal // cards that got no task
}

// waiting lists the tasks that wait for a person's word, and the cards that got none, as of the last revision.
func (p *pulse) waiting(ctx context.Context, o Options) ([]task.Task, []orchestrator.Refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == p.rev && p.rev != "" {
		return p.line, p.left
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readLimit)
	defer cancel()
	if line, err := (documents.Reader{Engine: o.Engine}).Line(ctx, func(string) bool { return true }); err == nil {
		p.of, p.line = p.rev, line
	}
	return p.line, p.left
}

// readLimit bounds one reading; readEvery is how old it may be.
const (
	readLimit = 5 * time.Second
	readEvery = 200 * time.Millisecond
)

// read is the revision as of now, or the last one when the store does not answer.
func (p *pulse) read(ctx context.Context, o Options) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.at) < readEvery {
		return p.rev
	}
	// The reading is everybody's: it does not end with the client that started it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readLimit)
	defer cancel()
	newest, err1 := o.Engine.Records.JournalSince(ctx, -1, 1)
	depth, err2 := o.Engine.Jobs.Depth(ctx)
	held, err3 := o.Engine.Jobs.Holds(ctx)
	board, err4 := "", error(nil)
	if o.Cards != nil {
		board, err4 = o.Cards.Revision(ctx)
	}
	left, err5 := orchestrator.Refusals(ctx, o.Engine)
	p.at = time.Now()
	if errors.Join(err1, err2, err3, err4, err5) != nil {
		return p.rev
	}
	p.left = left
	h := fnv.New64a()
	for _, e := range newest {
		fmt.Fprintln(h, e.ID)
	}
	fmt.Fprintln(h, depth, o.warnings(ctx), board, left)
	for _, hold := range held {
		fmt.Fprintln(h, hold.Subject, hold.Name, hold.Reason)
	}
	p.rev = fmt.Sprintf("%x", h.Sum64())
	return p.rev
}

// changes reports when a page is out of date: {"rev": …}, whenever the revision is
// another, or (?run=task/run/attempt) the run at work that the page shows has gone on.
// It never carries what has changed: the page requests itself again. What a client does
// not read is not kept for it, so that one that sleeps costs nothing but its connection.
func (s *server) changes(w http.ResponseWriter, r *http.Request) {
	last := r.URL.Query().Get("rev")
	seen := sync.OnceValue(func() func() string { return s.watched(r) })
	if !s.listeners.Serve(w, r, access.Of(r.Context()).Name, s.Done, func() (text []byte, ended bool, err error) {
		if rev := s.pulse.read(r.Context(), s.Options) + seen()(); rev != last {
			last = rev
			text = fmt.Appendf(nil, "retry: 2000\nevent: change\ndata: {\"rev\":%q}\n\n", rev)
		}
		return text, false, nil
	}) {
		http.Error(w, "Too many pages listen already.", http.StatusServiceUnavailable)
	}
}
