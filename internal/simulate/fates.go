package simulate

import (
	"context"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/internal/run/virtual"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// FateKind names what becomes of one call of a port.
type FateKind string

// Fates. The zero value is a call that works.
const (
	fateOK     FateKind = ""
	FateError  FateKind = "error" // fails before anything happened; may go away
	fateLater  FateKind = "later" // the same, and names the moment to try again
	FateFinal  FateKind = "final" // refused for good
	fateLost   FateKind = "lost"  // happens, and the answer is lost
	FateHang   FateKind = "hang"  // no answer until the client gives up
	fateSlow   FateKind = "slow"  // happens after a while; if the caller dies meanwhile, all the same
	fateStale  FateKind = "stale" // answers what was true a moment ago
	fateTwice  FateKind = "twice" // arrives twice
	fateBefore FateKind = "crash-before"
	FateAfter  FateKind = "crash-after"
)

// Fate is the fate of one call: the nth of its name, from 1.
type Fate struct {
	Call string        `json:"call"`
	N    int           `json:"n"`
	Kind FateKind      `json:"kind"`
	For  time.Duration `json:"for,omitempty"`
}

// op is a call of a port.
type op struct {
	name string // port.Method
	lane string
	read bool
	// stale reads what was true a while ago; nil = the neighbour has no replicas.
	stale func(lag time.Duration) any
}

// timeout is how long a client waits for an answer.
const timeout = 30 * time.Second

// staleMax is how far a replica of a neighbour lags behind.
const staleMax = 2 * time.Second

// fate decides what becomes of a call.
func (s *sim) fate(o op) Fate {
	s.calls[o.name]++
	f := Fate{Call: o.name, N: s.calls[o.name]}
	switch {
	case s.calm:
		return f
	case !s.world.Drawn:
		if planned, ok := s.planned[fateKey{f.Call, f.N}]; ok {
			f = planned
		}
	default:
		f.Kind, f.For = s.draw(o)
	}
	if f.Kind == fateOK {
		if spell, sick := s.spell(o.lane); sick {
			f.Kind, f.For = spell.Kind, timeout/2
			return f
		}
	} else {
		s.drawn = append(s.drawn, f)
	}
	return f
}

type fateKey struct {
	call string
	n    int
}

// spell finds a time of sickness that a lane is in.
func (s *sim) spell(lane string) (Spell, bool) {
	at := s.since()
	for _, p := range s.world.Spells {
		if p.Lane == lane && at >= p.At && at < p.At+p.For {
			return p, true
		}
	}
	return Spell{}, false
}

// draw draws a fate by the world's rates.
func (s *sim) draw(o op) (FateKind, time.Duration) {
	hit := func(oneIn int) bool { return oneIn > 0 && s.chance.IntN(oneIn) == 0 }
	rate := s.world.Rates.Fault
	if o.lane == LaneStore {
		rate = s.world.Rates.Store
	}
	switch {
	case hit(s.world.Rates.Crash):
		if o.read || s.chance.IntN(2) == 0 {
			return fateBefore, 0
		}
		return FateAfter, 0
	case hit(rate):
		return s.fault(o)
	default:
		return fateOK, 0
	}
}

// fault draws a failure that the kind of call can have.
func (s *sim) fault(o op) (FateKind, time.Duration) {
	kinds := []FateKind{FateError, FateError, fateLater, fateSlow, FateHang}
	switch {
	case o.lane == LaneStore && o.read:
		kinds = []FateKind{FateError, fateSlow}
	case o.lane == LaneStore:
		kinds = []FateKind{FateError, fateLost, fateSlow}
	case o.lane == LaneAgents:
		kinds = []FateKind{FateError, fateSlow}
	case o.lane == LaneBoard:
		kinds = append(kinds, fateStale, fateStale)
	case !o.read:
		kinds = append(kinds, fateLost, fateLost, fateTwice)
	}
	kind := kinds[s.chance.IntN(len(kinds))]
	length := time.Duration(0)
	switch kind {
	case fateSlow:
		length = time.Duration(1+s.chance.IntN(25)) * time.Second
		if o.lane == LaneStore {
			length = time.Duration(1+s.chance.IntN(5)) * time.Second
		}
	case fateLater:
		length = time.Duration(1+s.chance.IntN(120)) * time.Second
	case fateStale:
		length = time.Duration(s.chance.IntN(int(staleMax)))
	}
	return kind, length
}

// refusal is the final error of a lane, as its adapter gives it.
func refusal(lane string) error {
	switch lane {
	case LaneHost:
		return githost.ErrDenied
	case LaneChat:
		return messenger.ErrUnreachable
	default:
		return &fault.Error{Text: lane + ": 403 forbidden"}
	}
}

// call makes a call of a port of a replica: others run first, then its fate is decided, and a dead replica's call is refused.
func call[T any](ctx context.Context, n *node, o op, arg string, f func() (T, error)) (T, error) {
	var none T
	s := n.sim
	if n.domain.Dead() {
		return none, virtual.ErrDead
	}
	n.domain.Yield()
	if n.domain.Dead() {
		return none, virtual.ErrDead
	}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	fate := s.fate(o)
	res, err := enact(ctx, n, o, fate, func() (T, error) {
		s.caller = n
		defer func() { s.caller = nil }()
		return f()
	})
	s.traceCall(n, o, arg, fate, err)
	return res, err
}

// enact lets a fate happen.
func enact[T any](ctx context.Context, n *node, o op, fate Fate, f func() (T, error)) (T, error) {
	var none T
	s := n.sim
	if o.lane == LaneStore && fate.Kind != fateOK {
		s.check.disturb()
	}
	switch fate.Kind {
	case FateError:
		return none, &fault.Error{Text: o.lane + ": 503 service unavailable", Again: true}
	case fateLater:
		return none, &fault.Error{Text: o.lane + ": 429 too many requests", Again: true, Wait: fate.For}
	case FateFinal:
		return none, refusal(o.lane)
	case fateLost, fateTwice:
		s.check.unsure[o.name]++
		if _, _ = f(); fate.Kind == fateTwice {
			return f()
		}
		return none, &fault.Error{Text: o.lane + ": the connection was reset", Again: true}
	case FateHang:
		s.check.unsure[o.name]++
		if err := run.Sleep(ctx, n.domain, timeout); err != nil {
			return none, err
		}
		return none, &fault.Error{Text: o.lane + ": no answer for " + timeout.String(), Again: true}
	case fateSlow:
		return slowly(ctx, n, o, fate.For, f)
	case fateStale:
		if o.stale != nil {
			if res, ok := o.stale(fate.For).(T); ok {
				return res, nil
			}
		}
		return f()
	case fateBefore, FateAfter:
		if fate.Kind == FateAfter {
			_, _ = f()
		}
		s.crash(n, time.Duration(1+s.dice(fate.Call, int64(fate.N)).IntN(90))*time.Second)
		return none, virtual.ErrDead
	default:
		return f()
	}
}

// slowly makes a call that takes a while. A request to a neighbour is under way: it
// arrives even if the caller dies meanwhile. A transaction, and a command of git,
// ends with its caller.
func slowly[T any](ctx context.Context, n *node, o op, d time.Duration, f func() (T, error)) (res T, err error) {
	s := n.sim
	made := false
	arrive := func() {
		if !made {
			made = true
			res, err = f()
		}
	}
	if !o.read && slices.Contains([]string{LaneComments, LaneStatus, LaneHost, LaneChat}, o.lane) {
		s.v.After(d, arrive)
	}
	if failed := run.Sleep(ctx, n.domain, d); failed != nil {
		if !n.domain.Dead() {
			s.check.unsure[o.name]++
		}
		return *new(T), failed
	}
	arrive()
	return res, err
}

// past is a card as it was a while ago; nil when nobody can say.
func (p *people) past(item string, lag time.Duration) any {
	then := p.s.v.Now().Add(-lag)
	for _, was := range slices.Backward(p.history[item]) {
		if !was.UpdatedAt.After(then) {
			return was
		}
	}
	return nil
}
