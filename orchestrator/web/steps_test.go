package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// running is a service in which the developer of task 1 is at work: at run 2, in its first attempt.
type running struct {
	*Rig
	logs *memwork.Logs
	name work.LogName
	end  chan string // how the developer's run is to end
	done chan struct{}
	dial func() net.Conn
}

func inRun(t *testing.T, f func(*running)) {
	k := &running{logs: new(memwork.Logs)}
	Run(t, func(r *Rig) {
		k.Rig, k.end, k.done = r, make(chan string), make(chan struct{})
		r.Place.SetScript(Instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			select {
			case kind := <-k.end:
				if kind == work.ResultOK {
					return GoodAgent(ctx, c, files)
				}
				return work.Result{Kind: kind}
			case <-ctx.Done():
				return work.Result{Kind: work.ResultCancelled}
			}
		}))
	}, func(r *Rig) {
		state := r.Task(r.Finish("x")).State
		require.Equal(r, stage.Developer, state.Active)
		k.name = work.LogName{TaskID: 1, Role: stage.Developer, Run: state.Run, Attempt: 1, Stream: work.StreamSteps}
		h, err := web.Handler(web.Options{Engine: r.Engine, Access: access.New(access.Options{PublicRead: true}), Logs: k.logs, Done: k.done})
		require.NoError(r, err)
		k.dial = Serve(r.T, h)
		f(k)
	})
}

// path is that of the run's events.
func (k *running) path() string { return fmt.Sprintf("/tasks/1/runs/%d/events", k.name.Run) }

func (k *running) says(text string) {
	k.logs.Step(k.name, work.Step{At: time.Now(), Kind: work.StepText, Text: text})
}

// event is one server-sent event.
type event struct{ name, id, data string }

// stream reads the events of a client, until the server ends the answer.
type stream struct {
	status int
	events chan event
	close  func()
}

func (k *running) get(path, lastID string) *stream {
	k.Helper()
	c := k.dial()
	_, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: host\r\nLast-Event-ID: %s\r\nConnection: close\r\n\r\n", path, lastID)
	require.NoError(k, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(k, err)
	return &stream{status: resp.StatusCode, events: eventsOf(resp.Body), close: func() { _ = c.Close() }}
}

// eventsOf reads the events of an answer, until it ends.
func eventsOf(body io.Reader) chan event {
	out := make(chan event, 1000)
	go func() {
		defer close(out)
		var e event
		for lines := bufio.NewScanner(body); lines.Scan(); {
			switch field, value, _ := strings.Cut(lines.Text(), ": "); field {
			case "event":
				e.name = value
			case "id":
				e.id = value
			case "data":
				e.data = value
			case "":
				if e != (event{}) {
					out <- e
				}
				e = event{}
			}
		}
	}()
	return out
}

// next waits for an event; none comes within ten seconds when ok is false.
func (s *stream) next() (e event, ok bool) {
	select {
	case e, ok = <-s.events:
		return e, ok
	case <-time.After(10 * time.Second):
		return e, false
	}
}

func (k *running) text(e event) string {
	k.Helper()
	var s work.Step
	require.NoError(k, json.Unmarshal([]byte(e.data), &s), e.data)
	return s.Text
}

// A run is followed from its first step to its end, and a client that was cut off misses nothing
// and gets nothing twice.
func TestRunEvents(t *testing.T) {
	inRun(t, func(k *running) {
		s := k.get(k.path(), "")
		require.Equal(k, http.StatusOK, s.status, "before there is any step")
		var ids []string
		for i := range 3 {
			k.says(fmt.Sprintf("step %d\nПривет", i))
			e, ok := s.next()
			require.True(k, ok)
			require.Equal(k, fmt.Sprintf("step %d\nПривет", i), k.text(e))
			require.Empty(k, e.name)
			ids = append(ids, e.id)
		}
		s.close()
		again := k.get(k.path(), ids[0])
		for i := 1; i < 3; i++ {
			e, _ := again.next()
			require.Equal(k, ids[i], e.id)
		}
		_, ok := again.next()
		require.False(k, ok, "there is nothing new")
		k.end <- work.ResultOK
		k.says("the last word")
		e, _ := again.next()
		require.Equal(k, "the last word", k.text(e))
		last := e.id
		end, _ := again.next()
		require.Equal(k, event{"end", last, `{"status":"ok","attempt":1}`}, end)
		_, ok = again.next()
		require.False(k, ok, "the answer has ended")
		end, _ = k.get(k.path(), last).next()
		require.Equal(k, "end", end.name, "also for one that missed it alone")
	})
}

// The newest attempt is followed, unless another is named. One that was interrupted ends so.
func TestRunEventsOfAnAttempt(t *testing.T) {
	inRun(t, func(k *running) {
		k.says("first")
		first := k.get(k.path(), "")
		_, _ = first.next()
		k.end <- work.ResultFailed
		end, _ := first.next()
		require.Equal(k, `{"status":"failed","attempt":1}`, end.data)
		k.Settle(time.Hour) // until it is tried again
		k.name.Attempt = 2
		k.says("second")
		second := k.get(k.path(), "")
		e, _ := second.next()
		require.Equal(k, "second", k.text(e))
		e, _ = k.get(k.path()+"?attempt=1", "").next()
		require.Equal(k, "first", k.text(e))
		k.end <- work.ResultCancelled
		time.Sleep(40 * time.Second)
		end, _ = second.next()
		require.Equal(k, event{"end", end.id, `{"status":"interrupted","attempt":2}`}, end)
	})
}

// What is no step is skipped, and what is one is bounded.
func TestRunEventsOfHostileSteps(t *testing.T) {
	inRun(t, func(k *running) {
		k.logs.Print(k.name, "no JSON\ndata: forged\n\n{\"kind\":\"root\"}\n"+strings.Repeat("x", 1<<20)+"\n")
		k.says("a\nevent: end\ndata: {}\n\n\x1b[31m\x00" + strings.Repeat("y", 100_000))
		e, _ := k.get(k.path(), "").next()
		require.Empty(k, e.name)
		require.Equal(k, "a\nevent: end\ndata: {}\n\ny", k.text(e)[:24])
		require.Less(k, len(e.data), 5_000)
		e, _ = k.get(k.path(), "7").next()
		require.True(k, strings.HasPrefix(k.text(e), "a\n"), "an offset that no step begins at does no harm")
	})
}

func TestRunEventsRefused(t *testing.T) {
	inRun(t, func(k *running) {
		run := k.path()
		for path, want := range map[string]int{
			"/tasks/1/runs/99/events": 404, "/tasks/9/runs/1/events": 404, "/tasks/x/runs/1/events": 400, "/tasks/1/runs/0/events": 400,
			run + "?attempt=x": 400, run + "?attempt=0": 400, run + "?attempt=9": 404, run + "?after=x": 400,
		} {
			require.Equal(k, want, k.get(path, "").status, path)
		}
		for range 10 {
			require.Equal(k, http.StatusOK, k.get(run, "").status)
		}
		require.Equal(k, http.StatusServiceUnavailable, k.get(run, "").status, "one address has ten streams")
		require.Equal(k, http.StatusServiceUnavailable, k.get("/events", "").status, "of all kinds together")
		close(k.done)
	})
}

// A client that does not read is let go, and its place is free again.
func TestRunEventsOfSleepers(t *testing.T) {
	inRun(t, func(k *running) {
		for i := range 100 {
			k.says(fmt.Sprint(i))
		}
		for range 10 {
			_, err := fmt.Fprintf(k.dial(), "GET %s HTTP/1.1\r\nHost: host\r\n\r\n", k.path())
			require.NoError(k, err)
		}
		synctest.Wait()
		require.Equal(k, http.StatusServiceUnavailable, k.get(k.path(), "").status)
		time.Sleep(11 * time.Second)
		reader := k.get(k.path(), "")
		require.Equal(k, http.StatusOK, reader.status)
		for i := range 100 {
			e, _ := reader.next()
			require.Equal(k, fmt.Sprint(i), k.text(e))
		}
	})
}

// Without steps a run has an end all the same; without logs there is nothing to follow.
func TestRunEventsWithoutSteps(t *testing.T) {
	inRun(t, func(k *running) {
		s := k.get(k.path(), "")
		k.end <- work.ResultOK
		end, _ := s.next()
		require.Equal(k, "end", end.name)
	})
	off := setup(t, nil)
	off.begin()
	off.has(http.StatusNotFound, "runs without the logs of agents", off.get("/tasks/1/runs/1/events"))
}
