package queuetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/queue"
)

func cancels(k *kit) {
	id := k.put(queue.Job{TaskID: 1, Key: "a"}, queue.Job{TaskID: 1, Key: "a"}, queue.Job{TaskID: 2, Key: "a"})
	running := k.one()
	jobs, err := k.q.Cancel(k.Context(), 1)
	require.NoError(k, err)
	require.Len(k, jobs, 2)
	require.ErrorIs(k, k.q.Finish(k.Context(), running, queue.Outcome{Kind: queue.OutcomeRetry}), queue.ErrLost)
	k.clock.Add(2 * ttl)
	_, err = k.q.Reap(k.Context())
	require.NoError(k, err)
	require.Equal(k, queue.Cancelled, k.job(id[0]).Status)
	require.Equal(k, queue.Cancelled, k.job(id[1]).Status)
	require.Equal(k, id[2], k.one().Job.ID)
	jobs, err = k.q.Cancel(k.Context(), 1)
	require.NoError(k, err)
	require.Empty(k, jobs, "cancelling again cancels nothing")
}

func cancelsPools(k *kit) {
	id := k.put(queue.Job{TaskID: 1}, queue.Job{TaskID: 1, Pool: "other"})
	jobs, err := k.q.Cancel(k.Context(), 1, "other")
	require.NoError(k, err)
	require.Len(k, jobs, 1)
	require.Equal(k, id[1], jobs[0].ID)
	require.Equal(k, id[0], k.one().Job.ID)
}

func (k *kit) hold(subject, name string) {
	k.Helper()
	require.NoError(k, k.q.Hold(k.Context(), queue.Hold{Subject: subject, Name: name, Reason: "because"}))
}

func (k *kit) free(subject, name string) {
	k.Helper()
	require.NoError(k, k.q.Free(k.Context(), queue.Hold{Subject: subject, Name: name}))
}

func holds(k *kit) {
	k.hold("repo/a", "freeze")
	id := k.put(queue.Job{Holds: []string{"repo/a", "task/1"}}, queue.Job{Holds: []string{"repo/b"}})
	require.Equal(k, id[1], k.one().Job.ID)
	require.Equal(k, []queue.ReasonKind{queue.ReasonHold}, k.reasons(id[0]))
	k.free("repo/a", "freeze")
	require.Equal(k, id[0], k.one().Job.ID)
}

func freesLast(k *kit) {
	k.hold("s", "one")
	k.hold("s", "two")
	id := k.put(queue.Job{Holds: []string{"s"}})
	require.Equal(k, []queue.ReasonKind{queue.ReasonHold, queue.ReasonHold}, k.reasons(id[0]))
	other := k.put(queue.Job{Holds: []string{"t"}})
	k.hold("t", "one")
	err := k.q.Free(k.Context(), queue.Hold{Subject: "s", Name: "one"}, queue.Hold{Subject: "t", Name: "one"})
	require.NoError(k, err)
	require.Equal(k, other[0], k.one().Job.ID)
	k.free("s", "two")
	k.one()
}

func holdsLate(k *kit) {
	id := k.put(queue.Job{Holds: []string{"s"}}, queue.Job{Holds: []string{"s"}})
	c := k.take(1)[0]
	k.hold("s", "late")
	k.none()
	require.Equal(k, []queue.ReasonKind{queue.ReasonHold}, k.reasons(id[1]))
	k.done(c) // what runs is not touched
	k.free("s", "late")
	require.Equal(k, id[1], k.one().Job.ID)
}

func holdsIdempotent(k *kit) {
	k.hold("s", "n")
	since := k.clock.Now()
	k.clock.Add(time.Hour)
	k.hold("s", "n")
	id := k.put(queue.Job{Holds: []string{"s"}})
	waits, err := k.q.Waiting(k.Context(), queue.Filter{})
	require.NoError(k, err)
	require.Len(k, waits, 1)
	require.Len(k, waits[0].Reasons, 1)
	r := waits[0].Reasons[0]
	require.True(k, r.Since.Equal(since), "it is held since the first time")
	require.Equal(k, []string{"s", "n"}, []string{r.Subject, r.Name})
	held, err := k.q.Holds(k.Context())
	require.NoError(k, err)
	require.Len(k, held, 1)
	require.Equal(k, queue.Hold{Subject: "s", Name: "n", Reason: "because", Since: since}, held[0])
	k.free("s", "n")
	k.free("s", "n")
	require.Equal(k, id[0], k.one().Job.ID)
}

func holdsIn(k *kit) {
	for _, subject := range []string{"w/Acme/b/2", "w/acme/a/10", "w/acme/a-b/1", "w/acme/a/9", "w/acme/a/91", "w/acme/b/1", "w", "x"} {
		k.hold(subject, "n")
	}
	k.hold("w/acme/a/10", "m")
	list := func(from, before string, limit int) (out []string) {
		held, err := k.q.HoldsIn(k.Context(), from, before, limit)
		require.NoError(k, err)
		for _, h := range held {
			require.Equal(k, []any{"because", true}, []any{h.Reason, h.Since.Equal(k.clock.Now())})
			out = append(out, h.Subject+" "+h.Name)
		}
		return out
	}
	require.Equal(k, []string{"w/acme/a/10 m", "w/acme/a/10 n", "w/acme/a/9 n", "w/acme/a/91 n"}, list("w/acme/a/", "w/acme/a0", 9))
	require.Equal(k, []string{"w/acme/a/10 m"}, list("w/acme/a/", "w/acme/a0", 1))
	require.Equal(k, []string{"w/acme/a/9 n"}, list("w/acme/a/9", "w/acme/a/9\x00", 9), "one subject")
	require.Equal(k, []string{"w/acme/a/91 n"}, list("w/acme/a/9\x00", "w/acme/a0", 9), "those behind one")
	require.Empty(k, list("w/acme/c/", "w/acme/c0", 9))
}

func explains(k *kit) {
	k.hold("s", "n")
	id := k.put(
		queue.Job{Key: "k"},
		queue.Job{Key: "k", Holds: []string{"s"}, AvailableAt: k.clock.Now().Add(time.Hour)},
	)
	require.Empty(k, k.reasons(id[0]))
	require.Equal(k, []queue.ReasonKind{queue.ReasonOrder, queue.ReasonDelay, queue.ReasonHold}, k.reasons(id[1]))
	c := k.one()
	require.Equal(k, []queue.ReasonKind{queue.ReasonRunning}, k.reasons(id[0]))
	k.done(c)
	require.Equal(k, []queue.ReasonKind{queue.ReasonDelay, queue.ReasonHold}, k.reasons(id[1]))
}

func separatesPools(k *kit) {
	k.put(queue.Job{Pool: "other", Key: "a"})
	k.none()
	claims, err := k.q.Take(k.Context(), "other", "w2", 5, ttl)
	require.NoError(k, err)
	require.Len(k, claims, 1)
}

func counts(k *kit) {
	k.put(queue.Job{}, queue.Job{}, queue.Job{}, queue.Job{Pool: "a"})
	claims := k.take(2)
	k.done(claims[0])
	depth, err := k.q.Depth(k.Context())
	require.NoError(k, err)
	require.Equal(k, []queue.Depth{
		{Pool: "a", Status: queue.Queued, Count: 1},
		{Pool: pool, Status: queue.Queued, Count: 1},
		{Pool: pool, Status: queue.Running, Count: 1},
	}, depth)
}

func filters(k *kit) {
	id := k.put(queue.Job{TaskID: 1}, queue.Job{TaskID: 2}, queue.Job{TaskID: 1, Pool: "a"})
	k.done(k.take(1)[0])
	list := func(f queue.Filter) []int64 {
		jobs, err := k.q.Jobs(k.Context(), f)
		require.NoError(k, err)
		out := []int64{}
		for _, j := range jobs {
			out = append(out, j.ID)
		}
		return out
	}
	require.Equal(k, id, list(queue.Filter{}))
	require.Equal(k, []int64{id[0], id[2]}, list(queue.Filter{TaskID: 1}))
	require.Equal(k, []int64{id[2]}, list(queue.Filter{TaskID: 1, Open: true}))
	require.Equal(k, []int64{id[0], id[1]}, list(queue.Filter{Pool: pool}))
	require.Equal(k, []int64{id[0]}, list(queue.Filter{Limit: 1}))
	waits, err := k.q.Waiting(k.Context(), queue.Filter{Pool: "a"})
	require.NoError(k, err)
	require.Len(k, waits, 1)

	keyed := k.put(queue.Job{Key: "x", TaskID: 7}, queue.Job{Key: "x", Pool: "a"}, queue.Job{Key: "y"})
	require.Equal(k, keyed[:2], list(queue.Filter{Key: "x"}))
	require.Equal(k, keyed[:2], list(queue.Filter{Key: "x", Open: true}))
	require.Equal(k, keyed[1:2], list(queue.Filter{Key: "x", Open: true, Pool: "a"}))
	require.Equal(k, keyed[:1], list(queue.Filter{Key: "x", Open: true, TaskID: 7}))
	_, err = k.q.Cancel(k.Context(), 7)
	require.NoError(k, err)
	require.Equal(k, keyed[1:2], list(queue.Filter{Key: "x", Open: true}))
}

// hastens: what failed and waits for its time is due at once; what was put for later
// is not, and the order of a key stays.
func hastens(k *kit) {
	id := k.put(queue.Job{Key: "x", TaskID: 1}, queue.Job{Key: "x", TaskID: 1}, queue.Job{TaskID: 2}, queue.Job{Pool: "a", TaskID: 1})
	soon := k.clock.Now().Add(ttl / 2)
	later := k.put(queue.Job{TaskID: 1, AvailableAt: soon})
	failed := queue.Outcome{Kind: queue.OutcomeRetry, At: soon, Error: "no answer"}
	for _, c := range k.take(10) {
		k.finish(c, failed)
	}
	elsewhere, err := k.q.Take(k.Context(), "a", "w", 10, time.Minute)
	require.NoError(k, err)
	k.finish(elsewhere[0], failed)
	k.none()

	n, err := k.q.Hasten(k.Context(), pool, 2)
	require.NoError(k, err)
	require.Equal(k, 1, n)
	require.Equal(k, id[2], k.one().Job.ID)

	n, err = k.q.Hasten(k.Context(), pool, 0)
	require.NoError(k, err)
	require.Equal(k, 1, n, "the job of the other pool and the one for later stay")
	first := k.one()
	require.Equal(k, id[0], first.Job.ID)
	require.Equal(k, 2, first.Job.Attempt)
	k.done(first)
	require.Equal(k, id[1], k.one().Job.ID)

	n, err = k.q.Hasten(k.Context(), "", 1)
	require.NoError(k, err)
	require.Equal(k, 1, n)
	elsewhere, err = k.q.Take(k.Context(), "a", "w", 10, time.Minute)
	require.NoError(k, err)
	require.Len(k, elsewhere, 1)
	k.clock.Add(ttl / 2)
	require.Equal(k, later[0], k.one().Job.ID)
}

func wakes(k *kit) {
	hint := k.q.Wake(pool)
	hinted := func(change func()) {
		k.Helper()
		for drained := false; !drained; {
			select {
			case <-hint:
			default:
				drained = true
			}
		}
		change()
		select {
		case <-hint:
		case <-time.After(10 * time.Second):
			require.Fail(k, "no hint")
		}
	}
	k.hold("s", "n")
	k.put(queue.Job{Holds: []string{"s"}})
	hinted(func() { k.free("s", "n") })
	k.done(k.one())

	k.put(queue.Job{Key: "k"}, queue.Job{Key: "k"})
	first := k.one()
	hinted(func() { k.done(first) })
	k.done(k.one())

	k.put(queue.Job{AvailableAt: k.clock.Now().Add(time.Minute)})
	k.none()
	k.clock.Add(2 * time.Minute)
	hinted(func() { // by a worker that takes jobs of any pool
		_, err := k.q.Take(k.Context(), "another", "w", 1, time.Minute)
		require.NoError(k, err)
	})
	k.one()
}

func holdsInFront(k *kit) {
	var front []queue.Job
	for i := range 40 {
		front = append(front, queue.Job{TaskID: int64(1 + i%2), Holds: []string{"t", "s"}})
	}
	held := k.put(front...)
	free := k.put(queue.Job{Priority: 1}, queue.Job{Priority: 1}, queue.Job{Priority: 1})
	k.hold("s", "n")
	require.Equal(k, free[:2], ids(k.take(2)))
	require.Equal(k, free[2:], ids(k.take(2)))
	_, err := k.q.Cancel(k.Context(), 2)
	require.NoError(k, err)
	require.Equal(k, []queue.ReasonKind{queue.ReasonHold}, k.reasons(held[0]))
	k.hold("s", "n")
	k.free("s", "n")
	want := []int64{}
	for i := 0; i < len(held); i += 2 {
		want = append(want, held[i])
	}
	require.Equal(k, want, ids(k.take(100)))
}

func holdsBoth(k *kit) {
	id := k.put(queue.Job{Holds: []string{"a", "b"}, Key: "k"}, queue.Job{Key: "k", Holds: []string{"b"}})
	k.hold("b", "n")
	k.none()
	k.hold("a", "n")
	k.free("b", "n")
	k.none()
	k.hold("b", "n")
	k.free("a", "n")
	k.none()
	k.free("b", "n")
	c := k.one()
	require.Equal(k, id[0], c.Job.ID)
	k.hold("b", "n")
	k.done(c)
	k.none()
	k.free("b", "n")
	require.Equal(k, id[1], k.one().Job.ID)
}
