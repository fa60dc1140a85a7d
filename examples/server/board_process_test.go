package main

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// browser is a person before the pages of the server, without JavaScript.
type browser struct {
	*world
	http *http.Client
}

// browse makes a person who has signed in with a token of the own: a name that is typed beside the operator's proves nothing.
func (w *world) browse(name string) *browser {
	w.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(w, err)
	b := &browser{w, &http.Client{Jar: jar, Timeout: 30 * time.Second}}
	secret, errs, code := w.command("token", "add", name, "--role", "admin")
	require.Zero(w, code, errs)
	b.submit("session", url.Values{"token": {strings.TrimSpace(secret)}})
	return b
}

// page is a page of the dashboard, and where it was found.
func (b *browser) page(path string) (at, body string) {
	b.Helper()
	resp, err := b.http.Get("http://" + b.addr + "/dashboard/" + path)
	require.NoError(b, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(b, err)
	require.Equal(b, http.StatusOK, resp.StatusCode, "%s: %s", path, text)
	return resp.Request.URL.Path, string(text)
}

// try posts a form; an error reports that no answer came.
func (b *browser) try(path string, form url.Values) (status int, at string, err error) {
	resp, err := b.http.PostForm("http://"+b.addr+"/dashboard/"+path, form)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Request.URL.Path, err
}

// submit posts a form and returns the path of the page that follows.
func (b *browser) submit(path string, form url.Values) string {
	b.Helper()
	status, at, err := b.try(path, form)
	require.NoError(b, err)
	require.Equal(b, http.StatusOK, status, path)
	return at
}

var keyField = regexp.MustCompile(`name="key" value="([^"]+)"`)

// key is the key of the form on a page.
func (b *browser) key(path string) string {
	b.Helper()
	_, body := b.page(path)
	found := keyField.FindStringSubmatch(body)
	require.NotNil(b, found, body)
	return found[1]
}

// begin makes a card by the form of a new one, and starts it.
func (b *browser) begin(project, title string, labels ...string) (id string) {
	b.Helper()
	ask := "board/new?" + url.Values{"project": {project}}.Encode()
	at := b.submit("board/new", url.Values{"key": {b.key(ask)}, "project": {project}, "title": {title}, "description": {"wanted:\n<b>& more</b>"}, "labels": {strings.Join(labels, ",")}, "start": {"1"}})
	return at[strings.LastIndex(at, "/")+1:]
}

// desk opens the board beside the server.
func (w *world) desk() *board.Board {
	w.Helper()
	b, err := board.Open(w.Context(), board.Options{Path: filepath.Join(w.data, "signalbox.db"), URL: w.env["DATABASE_URL"]})
	require.NoError(w, err)
	w.Cleanup(func() { require.NoError(w, b.Close()) })
	return b
}

// story is a card as it is now.
func story(t testing.TB, b cards.Reader, id string) cards.Story {
	t.Helper()
	s, err := b.Story(context.Background(), id)
	require.NoError(t, err)
	return s
}

// A card of our own board goes from To Analyse to Done by nothing but forms, over each kind
// of database; the journal names who has moved it, and the page says why it stands where it
// stands.
func TestOwnBoard(t *testing.T) {
	for name, settings := range map[string]func(t *testing.T) map[string]string{
		"sqlite": func(*testing.T) map[string]string { return map[string]string{} },
		"postgres": func(t *testing.T) map[string]string {
			return map[string]string{"DATABASE_URL": pgtest.Start(t, pgtest.Options{Durable: true}).URL("postgres")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := settings(t)
			env["TRACKER"], env["PLANE_URL"], env["PLANE_TOKEN"], env["PLANE_WORKSPACE"], env["RECONCILE_INTERVAL"] = "board", "http://127.0.0.1:1", "", "", "1h"
			p := &place{prefix: "OWN", more: ", starters: [Kim], approvers: [Lee]"}
			w := newWorld(t, env, p)
			desk := w.desk()
			kim, lee := w.browse("Kim"), w.browse("Lee")

			id := kim.begin(p.id, "Cache <tiles> 🚦")
			in := func(column stage.Status) bool { return story(t, desk, id).Column == string(column) }
			w.until("the analyst finishes", func() bool { return w.task(id).Hold == "approval" && in(stage.StatusInReview) })
			page := "board/cards/" + id
			_, body := lee.page(page)
			require.Contains(t, body, "Cache &lt;tiles&gt; 🚦")
			require.Contains(t, body, "<code>&lt;b&gt;</code>&amp; more<code>&lt;/b&gt;</code>", "Markdown, of which no HTML is let through")
			require.Contains(t, body, html.EscapeString(fmt.Sprintf("tasks/%d", w.task(id).ID)))
			require.Contains(t, body, `name="column" value="approved"`, "what is wanted is a button")
			require.Contains(t, body, "OWN-1")
			require.Equal(t, "OWN-1", w.task(id).WorkItemID)

			const shot = "\x89PNG\r\n\x1a\n\x00 of a page"
			_, err := desk.Attach(w.Context(), cards.Attachment{ID: id, Name: "a shot.png", Body: []byte(shot), By: cards.Person{Name: "Lee"}})
			require.NoError(t, err)
			put(t, `cp "$docs/files/1-a-shot.png" "$WORLD_DIR/given"`, w.dir, "OWN-1-developer")
			lee.submit(page+"/say", url.Values{"key": {lee.key(page)}, "body": {"Fine with me."}, "column": {"approved"}})
			w.until("it is done", func() bool { return in(stage.StatusDone) })
			given := contents(t, filepath.Join(w.dir, "given"))
			require.Equal(t, shot, string(given))
			require.NotContains(t, w.git(p.bare, "ls-tree", "-r", "--name-only", "main"), "/files/")
			require.Equal(t, stage.Done, w.task(id).Stage)

			by := map[stage.Trigger]stage.Principal{}
			for _, e := range w.task(id).Journal {
				if r, err := (task.JournalEntry{Kind: e.Kind, Payload: e.Payload}).Recorded(); err == nil {
					by[r.Event.On] = r.Event.By
				}
			}
			person := stage.Principal{Kind: stage.KindPerson, ID: "Kim", Name: "Kim", Via: stage.ViaBoard, Proof: stage.ProofToken}
			require.Equal(t, person, by[stage.OnToAnalyse])
			person.ID, person.Name = "Lee", "Lee"
			require.Equal(t, person, by[stage.OnApproved])
			s := story(t, desk, id)
			require.True(t, slices.ContainsFunc(s.Comments, func(c cards.Comment) bool { return c.Service && strings.Contains(c.Body, "The requirements are ready") }))
			var moved []string
			for _, e := range s.Log {
				if e.Kind == cards.Moved && !strings.HasPrefix(e.By, cards.Service) {
					moved = append(moved, e.By+" "+e.To)
				}
			}
			require.Equal(t, []string{"Kim to_analyse", "Lee approved"}, moved)
			_, body = kim.page("board?" + url.Values{"project": {p.id}}.Encode())
			require.Contains(t, body, "Cache &lt;tiles&gt;")
		})
	}
}

// The server is killed again and again while people type and move cards. What was answered
// is there, once; what was not answered is sent again by the same form, and is there once
// too. A move whose event was lost with the server is found.
func TestOwnBoardIsKilled(t *testing.T) {
	p := &place{prefix: "OWN"}
	w := newWorld(t, map[string]string{"TRACKER": "board"}, p)
	const people, words = 3, 25
	var ids []string
	var clients []*browser
	for n := range people {
		kim := w.browse(fmt.Sprint("Kim-", n))
		clients = append(clients, kim)
		made := kim.submit("board/new", url.Values{"key": {fmt.Sprint("k", n)}, "project": {p.id}, "title": {fmt.Sprint("card ", n)}, "description": {"wanted"}})
		ids = append(ids, made[strings.LastIndex(made, "/")+1:])
	}
	var wg sync.WaitGroup
	var answered atomic.Int64
	for n, kim := range clients {
		wg.Go(func() {
			send := func(path string, form url.Values) {
				for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
					if status, _, err := kim.try(path, form); err == nil && status == http.StatusOK {
						answered.Add(1)
						return
					}
				}
				t.Error("the server never answers")
			}
			page := "board/cards/" + ids[n]
			for i := range words {
				send(page+"/say", url.Values{"key": {fmt.Sprint("say ", n, i)}, "body": {fmt.Sprint("word ", i)}})
				send(page+"/move", url.Values{"column": {[]string{"done", "backlog"}[i%2]}})
			}
		})
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	kills := 0
	for working := true; working || kills < 3; kills++ {
		before := answered.Load()
		select {
		case <-ended:
			working = false
		case <-time.After(time.Duration(30+kills*17%120) * time.Millisecond):
			w.until("five are answered", func() bool { // or a slow machine gets nowhere
				return answered.Load() >= before+5 || answered.Load() == 2*people*words
			})
		}
		w.end(syscall.SIGKILL)
		w.start()
	}
	t.Logf("the server was killed %d times", kills)
	desk := w.desk()
	for n, id := range ids {
		s := story(t, desk, id)
		var said, moved []string
		for _, c := range s.Comments {
			said = append(said, c.Body)
		}
		for _, e := range s.Log {
			if e.Kind == cards.Moved {
				moved = append(moved, e.To)
			}
		}
		var wantSaid, wantMoved []string
		for i := range words {
			wantSaid = append(wantSaid, fmt.Sprint("word ", i))
			wantMoved = append(wantMoved, []string{"done", "backlog"}[i%2])
		}
		require.Equal(t, wantSaid, said, n)
		require.Equal(t, wantMoved, moved, n)
	}

	// As it is when the server is killed between the card's row and the event.
	w.end(syscall.SIGKILL)
	kim := cards.Person{Name: "Kim-0", Proof: stage.ProofToken}
	lost, _, err := desk.Make(t.Context(), cards.New{Project: p.id, Title: "lost", Description: "wanted", By: kim})
	require.NoError(t, err)
	_, err = desk.Move(t.Context(), lost.ID, "to_analyse", kim)
	require.NoError(t, err)
	w.start()
	w.until("the reconciler finds the move", func() bool { return w.task(lost.ID).Hold == "approval" })
	var by stage.Principal
	for _, e := range w.task(lost.ID).Journal {
		if r, err := (task.JournalEntry{Kind: e.Kind, Payload: e.Payload}).Recorded(); err == nil && r.Event.On == stage.OnToAnalyse {
			by = r.Event.By
		}
	}
	require.Equal(t, stage.Principal{Kind: stage.KindPerson, ID: "Kim-0", Name: "Kim-0", Via: stage.ViaReconciler, Proof: stage.ProofToken}, by)
}
