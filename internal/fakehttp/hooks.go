package fakehttp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
)

// Delivery is one attempt to send a webhook.
type Delivery struct {
	ID, Event string
	Body      []byte
	Status    int // HTTP; 0 = no connection
}

// Sender sends webhooks in the background, each once, as most hosts do.
type Sender struct {
	HTTP     *http.Client
	Attempts int           // until there is any HTTP answer; each has an id of its own when there are several
	Wait     time.Duration // before the next attempt

	group *run.Group
	head  func(http.Header, Delivery)

	mu     sync.Mutex
	seed   uint64
	rand   *rand.Rand
	ids    int
	url    string
	faults Faults
	meant  []Delivery // to be sent
	sent   []Delivery

	overtaken chan struct{} // closed when the next webhook was sent; nil = none waits
}

// NewSender makes a sender whose goroutines are the group's. head sets the headers of a
// webhook, its signature included.
func NewSender(group *run.Group, seed uint64, head func(http.Header, Delivery)) *Sender {
	return &Sender{
		Attempts: 1, group: group, head: head, seed: seed, rand: rand.New(rand.NewPCG(seed, 3)),
		HTTP: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
	}
}

// SetHookURL sets where webhooks go from now on; empty = nowhere.
func (s *Sender) SetHookURL(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.url = url
}

// SetFaults sets the chances of failure.
func (s *Sender) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Deliveries lists the attempts that were made.
func (s *Sender) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// Send sends a webhook.
func (s *Sender) Send(event string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.url == "" || s.rand.Float64() < s.faults.HookLost {
		return
	}
	d := Delivery{ID: s.id(), Event: event, Body: body}
	s.meant = append(s.meant, d)
	overtaken := s.overtaken // by this one
	s.overtaken = nil
	var after chan struct{}
	if overtaken == nil && s.rand.Float64() < s.faults.HookReordered {
		after = make(chan struct{})
		s.overtaken = after
	}
	copies := 1
	if s.rand.Float64() < s.faults.HookDoubled {
		copies = 2
	}
	for range copies {
		s.send(d, after, overtaken)
		overtaken = nil
	}
}

// id is a new one; the lock is held. Ids grow.
func (s *Sender) id() string {
	s.ids++
	return fmt.Sprintf("%08x-1111-11f0-8000-%012x", s.ids, s.seed&0xffffffffffff)
}

// send delivers in the background: after a channel is closed, if there is
// one, and closes another when it is done. The lock is held.
func (s *Sender) send(d Delivery, after <-chan struct{}, done chan<- struct{}) {
	delay := time.Duration(0)
	if s.faults.HookDelay > 0 {
		delay = time.Duration(s.rand.Int64N(int64(s.faults.HookDelay)))
	}
	if after != nil {
		delay += s.faults.hold()
	}
	url := s.url
	s.group.Go("webhook", func(ctx context.Context) {
		if done != nil {
			defer close(done)
		}
		select {
		case <-ctx.Done():
			return
		case <-after: // never, when it is nil
		case <-time.After(delay):
		}
		for n := range s.Attempts {
			if n > 0 && run.Sleep(ctx, run.Real{}, s.Wait) != nil {
				return
			}
			if s.attempt(ctx, url, d) != 0 {
				return
			}
		}
	})
}

// attempt tries to send a webhook, a later time to where webhooks go then, and returns the status of the answer.
func (s *Sender) attempt(ctx context.Context, url string, d Delivery) int {
	s.mu.Lock()
	if s.Attempts > 1 {
		d.ID, url = s.id(), cmp.Or(s.url, url)
	}
	s.mu.Unlock()
	d.Status = s.post(ctx, url, d)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, d)
	return d.Status
}

// Redeliver sends a webhook again, also one that was not received: as a new delivery, or
// under the same id. It returns the id.
func (s *Sender) Redeliver(id string, anew bool) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.meant {
		if d.ID != id {
			continue
		}
		if anew {
			d.ID = s.id()
			s.meant = append(s.meant, d)
		}
		s.send(d, nil, nil)
		return d.ID, nil
	}
	return "", fmt.Errorf("no webhook has the id %q", id)
}

func (s *Sender) post(ctx context.Context, url string, d Delivery) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(d.Body))
	if err != nil {
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	s.head(req.Header, d)
	resp, err := s.HTTP.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // the answer does not matter
	return resp.StatusCode
}

// MAC is the hexadecimal HMAC of a body.
func MAC(h func() hash.Hash, secret string, body []byte) string {
	m := hmac.New(h, []byte(secret))
	m.Write(body)
	return hex.EncodeToString(m.Sum(nil))
}
