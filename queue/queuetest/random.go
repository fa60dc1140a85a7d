package queuetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/queue"
)

// concurrent lets workers loose on jobs with keys: each job is done once, and
// the jobs of a key in order.
func concurrent(k *kit) {
	const jobs, keys, workers = 120, 7, 8
	batch := make([]queue.Job, jobs)
	for i := range batch {
		batch[i] = queue.Job{Key: fmt.Sprintf("k%d", i%keys), Kind: fmt.Sprint(i)}
	}
	k.put(batch...)
	var mu sync.Mutex
	last, seen := map[string]int64{}, map[int64]int{}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for {
				claims, err := k.q.Take(k.Context(), pool, fmt.Sprint(w), 2, ttl)
				if err != nil {
					k.Errorf("take: %v", err)
					return
				}
				mu.Lock()
				for _, c := range claims {
					seen[c.Job.ID]++
					if last[c.Job.Key] > c.Job.ID {
						k.Errorf("job %d of %s after %d", c.Job.ID, c.Job.Key, last[c.Job.Key])
					}
					last[c.Job.Key] = c.Job.ID
				}
				finished := len(seen) == jobs
				mu.Unlock()
				for _, c := range claims {
					if err := k.q.Finish(k.Context(), c, queue.Outcome{Kind: queue.OutcomeDone}); err != nil {
						k.Errorf("finish: %v", err)
					}
				}
				if finished {
					return
				}
			}
		})
	}
	wg.Wait()
	require.Len(k, seen, jobs)
	for id, n := range seen {
		require.Equal(k, 1, n, "job %d", id)
	}
}

// random compares what Waiting says with what Take does, for any schedule.
func random(t *testing.T, open Open) {
	t.Helper()
	rapid.Check(t, func(r *rapid.T) {
		clock := NewClock()
		q := open(t, clock.Now)
		s := &schedule{T: r, q: q, clock: clock}
		r.Repeat(map[string]func(*rapid.T){
			"put":    s.put,
			"take":   s.take,
			"finish": s.finish,
			"hold":   s.hold,
			"free":   s.free,
			"cancel": s.cancel,
			"time":   func(r *rapid.T) { clock.Add(time.Duration(rapid.IntRange(1, 90).Draw(r, "s")) * time.Second) },
			"reap": func(r *rapid.T) {
				_, err := q.Reap(t.Context())
				require.NoError(r, err)
			},
			"": s.invariants,
		})
	})
}

type schedule struct {
	*rapid.T
	q      Queue
	clock  *Clock
	claims []queue.Claim
}

func (s *schedule) put(r *rapid.T) {
	j := queue.Job{
		Pool: pool, Key: rapid.SampledFrom([]string{"", "a", "b"}).Draw(r, "key"), TaskID: rapid.Int64Range(0, 2).Draw(r, "task"),
		Priority: rapid.IntRange(0, 1).Draw(r, "priority"), DedupeKey: rapid.SampledFrom([]string{"", "", "d"}).Draw(r, "dedupe"),
		Holds:       rapid.SampledFrom([][]string{nil, {"s"}, {"s", "t"}}).Draw(r, "holds"),
		MaxAttempts: rapid.IntRange(0, 2).Draw(r, "max"),
	}
	if d := rapid.IntRange(0, 60).Draw(r, "delay"); d > 30 {
		j.AvailableAt = s.clock.Now().Add(time.Duration(d) * time.Second)
	}
	_, err := s.q.Put(r.Context(), j)
	require.NoError(r, err)
}

// take claims everything that Waiting says is claimable, and nothing else.
func (s *schedule) take(r *rapid.T) {
	waits, err := s.q.Waiting(r.Context(), queue.Filter{Pool: pool})
	require.NoError(r, err)
	want := []int64{}
	for _, w := range waits {
		if len(w.Reasons) == 0 {
			want = append(want, w.Job.ID)
		}
	}
	n := rapid.IntRange(0, 3).Draw(r, "n")
	claims, err := s.q.Take(r.Context(), pool, "w", n, ttl)
	require.NoError(r, err)
	require.Equal(r, want[:min(n, len(want))], ids(claims))
	s.claims = append(s.claims, claims...)
}

func (s *schedule) finish(r *rapid.T) {
	if len(s.claims) == 0 {
		return
	}
	i := rapid.IntRange(0, len(s.claims)-1).Draw(r, "claim")
	c := s.claims[i]
	kinds := []queue.OutcomeKind{queue.OutcomeDone, queue.OutcomeRetry, queue.OutcomeRelease, queue.OutcomeDead}
	o := queue.Outcome{
		Kind: rapid.SampledFrom(kinds).Draw(r, "outcome"),
		At:   s.clock.Now().Add(time.Duration(rapid.IntRange(0, 20).Draw(r, "after")) * time.Second),
	}
	before := s.find(r, c.Job.ID)
	err := s.q.Finish(r.Context(), c, o)
	if before.Status == queue.Running && before.Attempt == c.Job.Attempt {
		require.NoError(r, err)
		return
	}
	require.ErrorIs(r, err, queue.ErrLost)
	require.Equal(r, before.Status, s.find(r, c.Job.ID).Status)
}

func (s *schedule) find(r *rapid.T, id int64) queue.Job {
	jobs, err := s.q.Jobs(r.Context(), queue.Filter{})
	require.NoError(r, err)
	for _, j := range jobs {
		if j.ID == id {
			return j
		}
	}
	r.Fatalf("job %d is gone", id)
	return queue.Job{}
}

func (s *schedule) subject(r *rapid.T) queue.Hold {
	return queue.Hold{
		Subject: rapid.SampledFrom([]string{"s", "t"}).Draw(r, "subject"),
		Name:    rapid.SampledFrom([]string{"n", "m"}).Draw(r, "name"),
	}
}

func (s *schedule) hold(r *rapid.T) { require.NoError(r, s.q.Hold(r.Context(), s.subject(r))) }
func (s *schedule) free(r *rapid.T) { require.NoError(r, s.q.Free(r.Context(), s.subject(r))) }

func (s *schedule) cancel(r *rapid.T) {
	_, err := s.q.Cancel(r.Context(), rapid.Int64Range(1, 2).Draw(r, "task"))
	require.NoError(r, err)
}

// invariants hold after every step.
func (s *schedule) invariants(r *rapid.T) {
	jobs, err := s.q.Jobs(r.Context(), queue.Filter{})
	require.NoError(r, err)
	running, dedupe := map[string]int{}, map[string]int{}
	var unfinished int64
	for _, j := range jobs {
		if j.Status == queue.Running && j.Key != "" {
			running[j.Key]++
		}
		if !j.Status.Terminal() {
			unfinished++
			if j.DedupeKey != "" {
				dedupe[j.DedupeKey]++
			}
		}
	}
	for key, n := range running {
		require.Equal(r, 1, n, "running jobs of key %s", key)
	}
	for key, n := range dedupe {
		require.Equal(r, 1, n, "unfinished jobs of dedupe key %s", key)
	}
	depth, err := s.q.Depth(r.Context())
	require.NoError(r, err)
	for _, d := range depth {
		unfinished -= d.Count
	}
	require.Zero(r, unfinished, "depth agrees with the list")
}
