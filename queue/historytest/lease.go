package historytest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/signalbox-dev/signalbox/queue/lease"
)

const opAcquire, opRelease, opHolder = "acquire", "release", "holder"

// Leases acquires leases n times at random, keeps them too long, and gives back
// what was lost. ttl is how long leases live: a few times as long as a call
// takes. Several clients share the holder's name now and then, as replicas that
// work for one task do.
func Leases(ctx context.Context, l lease.Locker, log *Log, n int, ttl time.Duration) {
	r := rand.New(rand.NewPCG(uint64(log.client), 2))
	mine := map[string]lease.Lease{}
	for range n {
		name := fmt.Sprintf("lease %d", r.IntN(3))
		have := mine[name]
		switch r.IntN(8) {
		case 0, 1, 2, 3:
			who := []string{"shared", fmt.Sprint("client ", log.client)}[min(r.IntN(4), 1)]
			call := log.begin(Call{Op: opAcquire, Name: name, Asker: who, TTL: int64(ttl)})
			got, err := l.Acquire(ctx, name, who, ttl)
			if err == nil {
				mine[name] = got
			}
			var held *lease.Held
			if errors.As(err, &held) {
				got, err, call.No = held.Lease, nil, true
			}
			call.Holder, call.Epoch = got.Holder, got.Epoch
			log.end(call, err)
		case 4, 5:
			call := log.begin(Call{Op: opRelease, Name: name, Asker: have.Holder, Epoch: have.Epoch})
			have.Name = name
			lostOr(log, call, l.Release(ctx, have))
		case 6:
			call := log.begin(Call{Op: opHolder, Name: name})
			got, ok, err := l.Holder(ctx, name)
			call.No, call.Holder, call.Epoch = !ok, got.Holder, got.Epoch
			log.end(call, err)
		default: // slow
			time.Sleep(ttl / 2)
		}
	}
}

func lostOr(log *Log, call Call, err error) {
	if call.No = errors.Is(err, lease.ErrLost); call.No {
		err = nil
	}
	log.end(call, err)
}
