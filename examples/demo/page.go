package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

//go:embed pages assets
var files embed.FS

// place is an entry of the navigation.
type place struct{ Name, URL, Text string }

// places are the pages of the demonstration.
func (w *world) places() []place {
	return []place{
		{"Tour", "/", "What happens, step by step."},
		{"Card board", "/board", "Where people work: move a card, and the service follows."},
		{"Messenger", "/chat", "What a phone shows: one message for each task, edited as it moves, and the few notices that ring."},
		{"Map", "/tracks", "The other half of this module: public GPS tracks as a layer for maps, here with generated tracks."},
	}
}

// dashboard is the address of the server's own pages.
func (w *world) dashboard() string { return "http://" + w.service + "/dashboard/" }

// links are the demonstration's pages in the form of the dashboard's setting.
func (w *world) links() string {
	var out []string
	for _, p := range w.places() {
		out = append(out, p.Name+"=http://"+w.page.Addr().String()+p.URL)
	}
	return strings.Join(out, ",")
}

// announce prints the addresses.
func (w *world) announce(out io.Writer) {
	page := "http://" + w.page.Addr().String()
	fmt.Fprintf(out, "open this in a browser:  %s/\n\n", page)
	fmt.Fprintf(out, "board:      %s/board\nmessenger:  %s/chat\ntracks:     %s/tracks\n", page, page, page)
	fmt.Fprintf(out, "dashboard:  %s\nqueue:      http://%s/queue\ndata:       %s\n\n", w.dashboard(), w.service, w.dir)
}

// screen holds the data of a page.
type screen struct {
	Title, Nav    string
	Places        []place
	Dashboard     string
	Facts         facts
	Began         time.Time
	Token         string
	Steps         []step
	Ticked        int
	Last          string
	Done          int
	Runs          int
	Live, Notices []message
	Map           string // the page with a real map; empty: there is none
}

// policy bounds what a page may do: nothing that does not come from here.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// pages serves the tour, the board and the messenger's view.
func (w *world) pages(mux *http.ServeMux) {
	funcs := template.FuncMap{
		"dollars": func(n float64) string { return fmt.Sprintf("$%.2f", n) },
		"clock":   func(t time.Time) string { return t.Format("15:04:05") },
		"in": func(cards []seen, column string) (out []seen) {
			for _, c := range cards {
				if c.Column == column {
					out = append(out, c)
				}
			}
			return out
		},
	}
	paths := map[string]string{"tour": "GET /{$}", "board": "GET /board", "chat": "GET /chat", "map": "GET /tracks"}
	for name, path := range paths {
		page := template.Must(template.New("").Funcs(funcs).ParseFS(files, "pages/layout.html", "pages/"+name+".html"))
		mux.HandleFunc(path, func(rw http.ResponseWriter, r *http.Request) {
			var body bytes.Buffer
			if err := page.ExecuteTemplate(&body, "layout", w.screen(r, name)); err != nil {
				slog.Error("a page could not be made", "page", name, "err", err)
				http.Error(rw, "the page could not be made", http.StatusInternalServerError)
				return
			}
			h := rw.Header()
			h.Set("Content-Type", "text/html; charset=utf-8")
			h.Set("Content-Security-Policy", policy)
			h.Set("X-Content-Type-Options", "nosniff")
			h.Set("Cache-Control", "no-cache")
			_, _ = body.WriteTo(rw) // a reader that has gone away needs no page
		})
	}
	mux.Handle("GET /assets/{name}", http.FileServerFS(files))
	mux.Handle("POST /move", http.NewCrossOriginProtection().Handler(http.HandlerFunc(w.move)))
}

// screen gathers what a page shows.
func (w *world) screen(r *http.Request, name string) screen {
	f := w.look(r.Context())
	titles := map[string]string{"tour": "Tour", "board": "Card board", "chat": "Messenger", "map": "Map"}
	s := screen{
		Nav: name, Title: titles[name], Places: w.places(), Dashboard: w.dashboard(),
		Facts: f, Began: w.began, Token: adminToken,
	}
	switch name {
	case "map":
		s.Map = mapPrefix
	case "chat":
		s.Live, s.Notices = messages(f.Chat)
	case "tour":
		s.Steps = tour(f)
		last, ahead := missing(s.Steps)
		s.Ticked, s.Last = len(s.Steps)-len(ahead), last
		for _, c := range f.Cards {
			s.Runs += len(c.Task.Runs)
			if c.Task.MergeSHA != "" && c.Task.Stage == "done" {
				s.Done++
			}
		}
	}
	return s
}

// All reports whether every step was seen.
func (s screen) All() bool { return len(s.Steps) > 0 && s.Ticked == len(s.Steps) }

// Frozen is the card that waits for a frozen repository, if one does now.
func (s screen) Frozen() *seen {
	if c := s.Facts.card(behind); strings.Contains(c.Why, "(freeze)") {
		return &c
	}
	return nil
}

// Waiting is a task to show: one that waits, or any.
func (s screen) Waiting() web.TaskDetail {
	if c := s.Frozen(); c != nil {
		return c.Task
	}
	for _, c := range s.Facts.Cards {
		if c.Task.ID != 0 {
			return c.Task
		}
	}
	return web.TaskDetail{TaskView: web.TaskView{ID: 1}}
}

// move is a person who moves a card, or says something on it: a form, or JSON.
func (w *world) move(rw http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(rw, r.Body, 64<<10)
	var in struct{ ID, Column, Comment string }
	form := !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json")
	if form {
		in.ID, in.Column, in.Comment = r.PostFormValue("id"), r.PostFormValue("column"), strings.TrimSpace(r.PostFormValue("comment"))
	} else if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(rw, "send {id, column} or {id, comment}", http.StatusBadRequest)
		return
	}
	var err error
	if in.Comment != "" {
		err = w.board.Say(in.ID, "<p>"+html.EscapeString(in.Comment)+"</p>")
	}
	if err == nil && in.Column != "" {
		err = w.board.Move(in.ID, in.Column)
	}
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	w.looker.forget()
	if form {
		http.Redirect(rw, r, "/board", http.StatusSeeOther)
	}
}
