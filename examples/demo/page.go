package main

import (
	"context"
	_ "embed" // for the page
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/telegram/telegramtest"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

//go:embed board.html
var boardPage string

// view is what the page shows.
type view struct {
	Columns  []string   `json:"columns"`
	Cards    []cardView `json:"cards"`
	Messages []string   `json:"messages"`
	Cost     float64    `json:"cost"`
	Manual   bool       `json:"manual"`
	Service  string     `json:"service"`
	Alive    bool       `json:"alive"`
}

type cardView struct {
	ID       string   `json:"id"`
	Key      string   `json:"key"`
	Title    string   `json:"title"`
	Column   string   `json:"column"`
	Stage    string   `json:"stage"`
	Active   string   `json:"active"`
	Why      string   `json:"why"`
	Cost     float64  `json:"cost"`
	Comments []string `json:"comments"`
}

// pages serves the board with a face.
func (w *world) pages(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		rw.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'")
		_, _ = io.WriteString(rw, boardPage)
	})
	mux.HandleFunc("GET /board.json", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(w.view(r.Context()))
	})
	move := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var in struct{ ID, Column, Comment string }
		if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, 64<<10)).Decode(&in); err != nil {
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
		}
	})
	mux.Handle("POST /move", http.NewCrossOriginProtection().Handler(move))
}

// view gathers board, tasks and chat.
func (w *world) view(ctx context.Context) view {
	v := view{Manual: w.o.manual, Service: "http://" + w.service, Columns: []string{}, Cards: []cardView{}, Messages: []string{}}
	for _, s := range w.board.States(w.projects[0].id) {
		v.Columns = append(v.Columns, s.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var list web.TaskList
	v.Alive = w.api(ctx, "/tasks?limit=1000", &list) == nil
	tasks := map[string]web.TaskView{}
	for _, t := range list.Tasks {
		tasks[t.TrackerIssueID] = t
	}
	for _, i := range w.board.Items("") {
		c := cardView{ID: i.ID, Key: fmt.Sprintf("%s-%d", w.board.Identifier(i.Project), i.Sequence), Title: i.Name, Column: i.StateName, Comments: []string{}}
		if t, ok := tasks[i.ID]; ok {
			w.describe(ctx, &c, t)
		}
		for _, m := range w.board.Comments(i.ID) {
			c.Comments = append(c.Comments, text(m.HTML))
		}
		v.Cost += c.Cost
		v.Cards = append(v.Cards, c)
	}
	for _, m := range w.chat.Messages() {
		v.Messages = append(v.Messages, telegramtest.Plain(m.Text))
	}
	return v
}

// describe adds what the service says of a task.
func (w *world) describe(ctx context.Context, c *cardView, t web.TaskView) {
	c.Key, c.Stage, c.Active = t.WorkItemID, string(t.Stage), string(t.Active)
	var d web.TaskDetail
	if w.api(ctx, fmt.Sprintf("/tasks/%d", t.ID), &d) == nil {
		c.Cost = d.Totals.CostUSD
	}
	var x struct{ Summary string }
	if w.api(ctx, fmt.Sprintf("/tasks/%d/explain", t.ID), &x) == nil {
		c.Why = x.Summary
	}
}

var markup = regexp.MustCompile(`<[^>]*>`)

// text is a comment without its markup.
func text(fragment string) string {
	return html.UnescapeString(markup.ReplaceAllString(strings.ReplaceAll(fragment, "<br/>", "\n"), ""))
}

// tell prints what happens on the board and in the chat.
func (w *world) tell(ctx context.Context, out io.Writer) {
	changes, comments, messages := 0, 0, 0
	names := map[string]string{}
	show := func(who, item, what string) {
		fmt.Fprintf(out, "%6.1fs  %-7s %-8s %s\n", time.Since(w.began).Seconds(), who, item, strings.ReplaceAll(what, "\n", " · "))
	}
	for every(ctx, 50*time.Millisecond) {
		for _, i := range w.board.Items("") {
			names[i.ID] = fmt.Sprintf("%s-%d", w.board.Identifier(i.Project), i.Sequence)
		}
		for _, c := range w.board.Changes()[changes:] {
			who := "person"
			if c.Actor == bot {
				who = "service"
			}
			show(who, names[c.Item], c.From+" → "+c.To)
			changes++
		}
		for _, c := range w.board.Comments("")[comments:] {
			show("comment", names[c.Item], text(c.HTML))
			comments++
		}
		for _, m := range w.chat.Messages()[messages:] {
			show("chat", "", telegramtest.Plain(m.Text))
			messages++
		}
	}
}
