package historytest

import (
	"bytes"
	"io"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
	"github.com/signalbox-dev/signalbox/queue/memqueue"
)

const second = int64(time.Second)

// at is a call that begins and ends at these seconds; one that has no end is
// pending. Its begin is its number.
func at(from, to int64, c Call) Call {
	if c.From, c.To = from*second, to*second; to == 0 {
		c.To = math.MaxInt64
	}
	c.N, c.TTL = from, 10*second
	return c
}

func about(op string, attempt int) Call {
	return Call{Op: op, Jobs: []Job{{Task: 1, Attempt: attempt}}}
}

func no(c Call) Call { c.No = true; return c }

func status(s string, attempt int) Call {
	return Call{Op: opSee, Jobs: []Job{{Task: 1, Attempt: attempt, Status: s}}}
}

// together lets n clients of one process loose; each writes its record to w.
func together(t *testing.T, w io.Writer, n int, f func(log *Log)) {
	t.Helper()
	var wg sync.WaitGroup
	shared := &writer{w: w}
	for client := range n {
		wg.Go(func() {
			log := newLog(client+1, shared)
			f(log)
			if err := log.Err(); err != nil {
				t.Errorf("client %d: %v", client+1, err)
			}
		})
	}
	wg.Wait()
}

// Every history here has a right and a wrong version: the checker distinguishes them.
func TestJobs(t *testing.T) {
	t.Parallel()
	put, take := at(1, 2, about(opPut, 0)), at(3, 4, about(opTake, 1))
	for name, h := range map[string]struct {
		right, wrong []Call
	}{
		"a job is claimed by one": {
			[]Call{put, take, at(5, 6, about(opFinish, 1))},
			[]Call{put, take, at(5, 6, about(opTake, 1))},
		},
		"an attempt has a number of its own": {
			[]Call{put, take, at(5, 6, about(opAgain, 1)), at(7, 8, about(opTake, 2))},
			[]Call{put, take, at(5, 6, about(opAgain, 1)), at(7, 8, about(opTake, 1))},
		},
		"a claim ends once": {
			[]Call{put, take, at(5, 6, about(opFinish, 1)), at(7, 8, no(about(opFinish, 1)))},
			[]Call{put, take, at(5, 6, about(opFinish, 1)), at(7, 8, about(opFinish, 1))},
		},
		"a claim that is held is not refused": {
			[]Call{put, take, at(5, 6, about(opExtend, 1))},
			[]Call{put, take, at(5, 6, no(about(opExtend, 1)))},
		},
		"a claim is given back when its time is over": {
			[]Call{put, take, at(13, 14, about(opReap, 1)), at(15, 16, no(about(opFinish, 1)))},
			[]Call{put, take, at(11, 12, about(opReap, 1)), at(15, 16, no(about(opFinish, 1)))},
		},
		"a heartbeat prolongs": {
			[]Call{put, take, at(9, 10, about(opExtend, 1)), at(18, 19, about(opReap, 1))},
			[]Call{put, take, at(9, 10, about(opExtend, 1)), at(17, 18, about(opReap, 1))},
		},
		"what is cancelled does not run": {
			[]Call{put, at(3, 4, about(opCancel, 0)), at(5, 6, no(about(opCancel, 0)))},
			[]Call{put, at(3, 4, about(opCancel, 0)), at(5, 6, about(opTake, 1))},
		},
		"calls that overlap may have any order": {
			[]Call{put, at(3, 9, no(about(opCancel, 0))), take, at(5, 9, about(opFinish, 1))},
			[]Call{put, at(3, 4, no(about(opCancel, 0))), at(5, 6, about(opTake, 1))},
		},
		"what was acknowledged is there at the end": {
			[]Call{put, take, at(5, 6, about(opFinish, 1)), at(9, 9, status("done", 1))},
			[]Call{put, take, at(5, 6, about(opFinish, 1)), at(9, 9, status("running", 1))},
		},
		"what is missing at the end is lost": {
			[]Call{at(1, 0, about(opPut, 0)), at(9, 9, Call{Op: opSee})},
			[]Call{put, at(9, 9, Call{Op: opSee})},
		},
		"a call without an end happened or not": {
			[]Call{put, take, at(5, 0, about(opFinish, 1)), at(9, 9, status("done", 1))},
			[]Call{put, take, at(5, 0, about(opFinish, 1)), at(9, 9, status("queued", 1))},
		},
		"and may be seen late": {
			[]Call{put, take, at(5, 0, about(opFinish, 1)), at(7, 8, about(opExtend, 1)), at(9, 9, status("done", 1))},
			[]Call{put, take, at(5, 0, about(opFinish, 1)), at(7, 8, no(about(opExtend, 1))), at(9, 9, status("running", 1))},
		},
		"a claimant who died explains a claim that nobody saw": {
			[]Call{put, at(3, 0, Call{Op: opTake}), at(14, 15, about(opReap, 1))},
			[]Call{put, at(14, 15, about(opReap, 1))},
		},
		"so does one who waited for a server that crashed": {
			[]Call{put, at(3, 20, Call{Op: opTake}), at(4, 5, Call{Op: opCrash}), at(14, 15, about(opReap, 1))},
			[]Call{put, at(3, 20, Call{Op: opTake}), at(21, 22, Call{Op: opCrash}), at(14, 15, about(opReap, 1))},
		},
		"but he has each job once": {
			[]Call{put, at(3, 20, about(opTake, 1)), at(4, 5, Call{Op: opCrash})},
			[]Call{put, at(3, 20, about(opTake, 2)), at(4, 5, Call{Op: opCrash}), at(14, 15, about(opReap, 1))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, porcupine.Ok, explain(byTask(h.right)[1], job.next))
			require.Equal(t, porcupine.Illegal, explain(byTask(h.wrong)[1], job.next))
		})
	}
}

func leaseCall(op, asker, holder string, epoch int64) Call {
	return Call{Op: op, Name: "l", Asker: asker, Holder: holder, Epoch: epoch}
}

func TestLeases(t *testing.T) {
	t.Parallel()
	first := at(1, 2, leaseCall(opAcquire, "a", "a", 1))
	for name, h := range map[string]struct {
		right, wrong []Call
	}{
		"one holder at a time": {
			[]Call{first, at(3, 4, no(leaseCall(opAcquire, "b", "a", 1)))},
			[]Call{first, at(3, 4, leaseCall(opAcquire, "b", "b", 2))},
		},
		"an epoch of its own for each": {
			[]Call{first, at(12, 13, leaseCall(opAcquire, "b", "b", 2))},
			[]Call{first, at(12, 13, leaseCall(opAcquire, "b", "b", 1))},
		},
		"who has it keeps its epoch": {
			[]Call{first, at(3, 4, leaseCall(opAcquire, "a", "a", 1))},
			[]Call{first, at(3, 4, leaseCall(opAcquire, "a", "a", 2))},
		},
		"what a call that took long has granted may have run out by its end": {
			[]Call{at(1, 30, leaseCall(opAcquire, "a", "a", 1)), at(31, 32, leaseCall(opAcquire, "a", "a", 2))},
			[]Call{at(1, 30, leaseCall(opAcquire, "a", "a", 1)), at(31, 32, leaseCall(opAcquire, "a", "a", 3))},
		},
		"nobody is told of a holder who never was": {
			[]Call{at(1, 9, leaseCall(opAcquire, "a", "a", 1)), at(1, 9, no(leaseCall(opAcquire, "b", "a", 1))), at(1, 9, no(leaseCall(opAcquire, "c", "a", 1)))},
			[]Call{at(1, 9, leaseCall(opAcquire, "a", "a", 1)), at(1, 9, no(leaseCall(opAcquire, "b", "a", 1))), at(1, 9, no(leaseCall(opAcquire, "c", "b", 1)))},
		},
		"nobody is told of a holder whose time is over": {
			[]Call{first, at(11, 12, no(leaseCall(opAcquire, "b", "a", 1)))},
			[]Call{first, at(13, 14, no(leaseCall(opAcquire, "b", "a", 1)))},
		},
		"what is given back is free": {
			[]Call{first, at(3, 4, leaseCall(opRelease, "a", "", 1)), at(5, 6, leaseCall(opAcquire, "b", "b", 2)), at(7, 8, no(leaseCall(opRelease, "a", "", 1)))},
			[]Call{first, at(3, 4, leaseCall(opRelease, "a", "", 1)), at(5, 6, no(leaseCall(opAcquire, "b", "a", 1)))},
		},
		"the holder is named": {
			[]Call{first, at(3, 4, leaseCall(opHolder, "", "a", 1)), at(12, 13, no(leaseCall(opHolder, "", "", 0)))},
			[]Call{first, at(3, 4, no(leaseCall(opHolder, "", "", 0)))},
		},
		"a call without an end happened or not": {
			[]Call{first, at(3, 0, leaseCall(opRelease, "a", "", 1)), at(5, 6, leaseCall(opAcquire, "b", "b", 2))},
			[]Call{first, at(3, 0, leaseCall(opHolder, "", "a", 1)), at(5, 6, leaseCall(opAcquire, "b", "b", 2))},
		},
		"who died while it was granted may have used up an epoch": {
			[]Call{first, at(3, 4, leaseCall(opRelease, "a", "", 1)), at(5, 0, leaseCall(opAcquire, "b", "", 0)), at(7, 8, leaseCall(opAcquire, "c", "c", 3))},
			[]Call{first, at(3, 4, leaseCall(opRelease, "a", "", 1)), at(7, 8, leaseCall(opAcquire, "c", "c", 3))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, porcupine.Ok, explain(h.right, right.next))
			require.Equal(t, porcupine.Illegal, explain(h.wrong, right.next))
		})
	}
}

// The doubles keep the rules too.
func TestMemory(t *testing.T) {
	t.Parallel()
	q, l := memqueue.New(nil), memlease.New(nil)
	jobs, leases := &bytes.Buffer{}, &bytes.Buffer{}
	together(t, jobs, 4, func(log *Log) { Jobs(t.Context(), q, log, 400, 5*time.Millisecond) })
	together(t, leases, 4, func(log *Log) { Leases(t.Context(), l, log, 300, 5*time.Millisecond) })
	end := newLog(99, jobs)
	See(t.Context(), q, end)
	require.NoError(t, end.Err())
	history, err := Read(jobs)
	require.NoError(t, err)
	CheckJobs(t, history).Need(t, opPut, opTake, opExtend, opFinish, opAgain, opCancel, opReap, opSee, "no "+opFinish, "no "+opExtend, "no "+opCancel)
	history, err = Read(leases)
	require.NoError(t, err)
	CheckLeases(t, history).Need(t, opAcquire, opRelease, opHolder, "no "+opAcquire, "no "+opRelease, "no "+opHolder)
}

// A line that was cut off is a call without an end.
func TestCutOff(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	l := newLog(1, &b)
	l.end(l.begin(Call{Op: opReap}), nil)
	l.end(l.begin(Call{Op: opReap}), nil)
	b.Truncate(b.Len() - 5)
	history, err := Read(&b)
	require.NoError(t, err)
	require.Len(t, history, 2)
	require.False(t, history[0].pending())
	require.True(t, history[1].pending())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { l.end(l.begin(Call{Op: opReap}), lostRecord{}) })
	}
	wg.Wait()
	require.ErrorIs(t, l.Err(), lostRecord{})
}

type lostRecord struct{}

func (lostRecord) Error() string { return "lost" }
