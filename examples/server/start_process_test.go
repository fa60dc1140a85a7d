package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
)

// sick stands before all neighbours and answers in their place until it is healed.
type sick struct {
	answer http.HandlerFunc
	healed chan struct{}
	well   atomic.Pointer[http.Handler]
}

func (s *sick) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := s.well.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	s.answer(w, r)
}

func (s *sick) heal(h http.Handler) {
	s.well.Store(&h)
	close(s.healed)
}

// says answers with a status and a body.
func says(status int, media, body string) func(*sick) http.HandlerFunc {
	return func(*sick) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.Header().Set("Location", "/maintenance")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
}

// hangs takes the request and answers nothing.
func hangs(s *sick) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-s.healed:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}
}

// breaks hangs up without an answer.
func breaks(*sick) http.HandlerFunc {
	return func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
}

// checks are the parts of readiness, which is 200.
func (w *world) checks() map[string]string {
	w.Helper()
	var v struct{ Checks map[string]string }
	require.True(w, w.get("/readyz", &v), "the server is ready")
	return v.Checks
}

// page is a page of the dashboard.
func (w *world) page(path string) string {
	w.Helper()
	resp, err := http.Get("http://" + w.addr + path)
	require.NoError(w, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(w, err)
	require.Equal(w, http.StatusOK, resp.StatusCode)
	return string(body)
}

// acknowledged are the webhooks of both senders that the server has stored.
func (w *world) acknowledged() (board, host int) {
	for _, d := range w.board.Deliveries() {
		if d.Status == http.StatusAccepted {
			board++
		}
	}
	for _, d := range w.host.Deliveries() {
		if d.Status == http.StatusAccepted {
			host++
		}
	}
	return board, host
}

// waiting counts the webhooks of the board that are stored and not acted upon.
func (w *world) waiting() (n int) {
	var q explain.QueueView
	require.True(w, w.get("/queue", &q))
	for _, j := range q.Jobs {
		if j.Kind == orchestrator.KindTracker {
			n++
		}
	}
	return n
}

// moveAsService moves a card with the service's own account.
func (w *world) moveAsService(item, column string) {
	w.Helper()
	for _, i := range w.board.Items("") {
		for _, s := range w.board.States(i.Project) {
			if i.ID != item || s.Name != column {
				continue
			}
			body, err := json.Marshal(map[string]string{"state": s.ID})
			require.NoError(w, err)
			r := httptest.NewRequest(http.MethodPatch, "/api/v1/workspaces/w/projects/"+i.Project+"/work-items/"+item+"/", bytes.NewReader(body))
			r.Header.Set("X-Api-Key", "plane-token")
			answer := httptest.NewRecorder()
			w.board.ServeHTTP(answer, r)
			require.Equal(w, http.StatusOK, answer.Code, answer.Body.String())
			return
		}
	}
	w.Fatalf("no card %s or no column %s", item, column)
}

// Whatever its neighbours answer at the start, the server serves: pages, probes and
// webhooks, which are kept. When they are well again, what people did is acted upon,
// and what the service's own account did is not.
func TestStartBesideSickNeighbours(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(*sick) http.HandlerFunc
		said   string // on /readyz
	}{
		"hang":    {hangs, "no answer yet"},
		"breaks":  {breaks, "EOF"},
		"html":    {says(http.StatusOK, "text/html", "<html>Back soon.</html>"), "cannot be read"},
		"null":    {says(http.StatusOK, "application/json", "null"), "without an id"},
		"302":     {says(http.StatusFound, "text/html", ""), "302 Found"},
		"401":     {says(http.StatusUnauthorized, "application/json", `{"detail":"who are you"}`), "who are you"},
		"500":     {says(http.StatusInternalServerError, "text/plain", "oops"), "500"},
		"refused": {nil, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sick{healed: make(chan struct{})}
			srv := httptest.NewUnstartedServer(s)
			port := srv.Listener.Addr().String()
			address := "http://" + port
			if refuses := c.answer == nil; refuses {
				require.NoError(t, srv.Listener.Close())
			} else {
				s.answer = c.answer(s)
				srv.Start()
			}
			t.Cleanup(srv.Close)
			w := newWorld(t, map[string]string{
				"PLANE_URL": address + "/plane", "GITHUB_URL": address + "/github", "TELEGRAM_URL": address + "/telegram", "TELEGRAM_TOKEN": "1:t", "TELEGRAM_CHAT_ID": "1",
				"RECONCILE_ENABLED": "false", // it would find the card of the service's own move, as if a webhook were lost
			}, &place{prefix: "APP"})
			w.until("the server says what is wrong", func() bool {
				said := w.checks()["tracker"]
				return strings.HasPrefix(said, "warning: the tracker has not said who we are since ") && strings.Contains(said, c.said)
			})
			require.Equal(t, "ok", w.checks()["board"], "what cannot be read lacks nothing")
			require.Contains(t, w.page("/healthz"), "ok")
			require.Contains(t, w.page("/dashboard/"), "the tracker has not said who we are")

			ours, persons := w.card("APP", "Moved by the service"), w.card("APP", "Moved by a person")
			w.moveAsService(ours, "In Progress")
			w.move(persons, "To Analyse")
			w.host.SetStatus(w.places["APP"].repo, strings.Repeat("a", 40), "ci", "success")
			w.until("webhooks are acknowledged", func() bool {
				board, host := w.acknowledged()
				return board == 4 && host == 1 // two cards, made and moved
			})
			require.Equal(t, 4, w.waiting())
			require.Empty(t, w.tasks(""))

			if c.answer == nil {
				var lc net.ListenConfig
				l, err := lc.Listen(t.Context(), "tcp", port)
				require.NoError(t, err)
				srv.Listener = l
				srv.Start()
			}
			s.heal(w.outer.Config.Handler)
			w.until("what was stored is acted upon", func() bool { return len(w.runs("APP-2")) > 0 && w.waiting() == 0 })
			w.until("the warning is gone", func() bool { return w.checks()["tracker"] == "ok" })
			require.NotContains(t, w.page("/dashboard/"), "the tracker has not said who we are")
			require.Empty(t, w.tasks(ours), "the service's own move is not a person's")
			_, ended := w.process()
			require.False(t, closed(ended), "it is the same process")
		})
	}
}

// A board without a column where cards can begin is said loudly, until it has one.
func TestBoardWithoutABeginning(t *testing.T) {
	t.Parallel()
	const said = "the board of APP (acme/app, tracker project "
	w := newWorld(t, nil, &place{prefix: "APP"}, &place{prefix: "OTH"})
	p := w.places["APP"].id
	warned := func() bool { return strings.HasPrefix(w.checks()["board"], "warning: "+said) }
	w.until("both boards are well", func() bool { return w.checks()["board"] == "ok" })
	require.NoError(t, w.board.RemoveState(p, "To Analyse"))
	w.restart()
	w.until("it is noticed at the start", warned)
	require.NotContains(t, w.checks()["board"], "OTH")
	require.Contains(t, w.page("/dashboard/"), said)
	log := w.read("server.log")
	require.Equal(t, 1, strings.Count(log, `level=ERROR msg="a board has no column where a card can begin" missing="To Analyse" prefix=APP repo=acme/app`), "once")
	require.Contains(t, log, "add a column of that name to it")
	w.board.AddState(p, "To Analyse")
	w.until("it is well again", func() bool { return w.checks()["board"] == "ok" })
}

// restart ends the server and starts it again.
func (w *world) restart() {
	w.Helper()
	w.end(syscall.SIGTERM)
	w.start()
}
