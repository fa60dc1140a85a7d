package dashboard_test

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

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	"github.com/signalbox-dev/signalbox/queue"
)

// send requests a path without reading the answer.
func send(t *testing.T, c net.Conn, path string) {
	t.Helper()
	_, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: host\r\n\r\n", path)
	require.NoError(t, err)
}

func receive(t *testing.T, c net.Conn) (status int, body *bufio.Reader) {
	t.Helper()
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	return r.StatusCode, bufio.NewReader(r.Body)
}

// event reads the next message of a stream: its name and what it carries.
func event(t *testing.T, r *bufio.Reader) (name string, data map[string]string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		switch field, value, _ := strings.Cut(strings.TrimSpace(line), ": "); field {
		case "event":
			name = value
		case "data":
			require.NoError(t, json.Unmarshal([]byte(value), &data))
		case "":
			if name != "" {
				return name, data
			}
		}
	}
}

// Clients that sleep cost nobody anything: pages are served and work is done
// without any delay, and after a few seconds the sleepers are let go.
func TestSleepersSlowNobody(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.card(project, "x")
		dial := Serve(w.T, w.pages)
		const room = 200
		for range room {
			send(w.T, dial(), "/changes?rev=old")
		}
		synctest.Wait()
		full := dial()
		send(w.T, full, "/changes")
		status, _ := receive(w.T, full)
		require.Equal(w, http.StatusServiceUnavailable, status, "there is room for so many streams only")

		begin := time.Now()
		reader := dial()
		for range 20 {
			send(w.T, reader, "/")
			status, body := receive(w.T, reader)
			require.Equal(w, http.StatusOK, status)
			_, err := io.Copy(io.Discard, body)
			require.NoError(w, err)
			require.NoError(w, admin.Audit(context.Background(), w.Engine, task.Task{}, task.Act{Act: "test", By: stage.Principal{ID: "test"}}))
		}
		require.Zero(w, time.Since(begin), "by the clock of the test, waiting for nothing takes no time")

		w.Settle(6 * time.Second)
		late := dial()
		send(w.T, late, "/changes?rev=old")
		status, body := receive(w.T, late)
		require.Equal(w, http.StatusOK, status, "the sleepers are let go")
		name, _ := event(w.T, body)
		require.Equal(w, "change", name)
	})
}

// A stream says that something has changed, once for each change, and nothing
// else; with the revision of the page it says nothing until there is news.
func TestChanges(t *testing.T) {
	var done chan struct{}
	inWorld(t, func(o *dashboard.Options) { done = make(chan struct{}); o.Done = done }, func(w *world) {
		w.Shutdown()
		dial := Serve(w.T, w.pages)
		c := dial()
		_, rest, _ := strings.Cut(w.get("/").body, `data-rev="`)
		rev, _, _ := strings.Cut(rest, `"`)
		require.NotEmpty(w, rev)
		send(w.T, c, "/changes?rev="+rev)
		news := make(chan string)
		go func() {
			defer close(news)
			status, body := receive(w.T, c)
			if status != http.StatusOK {
				return
			}
			for {
				line, err := body.ReadString('\n')
				if err != nil {
					return
				}
				if data, ok := strings.CutPrefix(line, "data: "); ok {
					news <- data
				}
			}
		}()
		quiet := func(d time.Duration) {
			w.Helper()
			select {
			case s := <-news:
				require.Fail(w, "there is no news", s)
			case <-time.After(d):
			}
		}
		quiet(time.Minute)
		for _, change := range []func() error{
			func() error {
				return admin.Audit(context.Background(), w.Engine, task.Task{}, task.Act{Act: "test", By: stage.Principal{ID: evil}})
			},
			func() error {
				_, err := w.Store.Put(context.Background(), queue.Job{Pool: "test", Kind: "test"})
				return err
			},
			func() error { return w.gate.Freeze(context.Background(), repo, 0, evil) },
			func() error {
				_, _, err := w.gate.Unfreeze(context.Background(), repo)
				return err
			},
		} {
			require.NoError(w, change())
			data := <-news
			require.Regexp(w, `^\{"rev":"[0-9a-f]+"\}`, data)
			quiet(10 * time.Second)
		}
		close(done)
		_, more := <-news
		require.False(w, more, "the stream ends when the server stops")
	})
}
