package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/internal/telegramtest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// kim is the person of the board in the chat.
var kim = telegramtest.User{ID: 4242, Name: "Kim"}

// ways are the words in titles of cards that are approved elsewhere than on the board.
var ways = map[string]stage.Via{flawed: stage.ViaDashboard, stuck: stage.ViaChat}

// approve approves the requirements of a card: on the board, on its review page or in the chat, as its title says. It
// reports false where that was not possible just now, as when the server has been killed.
func (w *world) approve(ctx context.Context, i planetest.Item) bool {
	for word, way := range ways {
		if !strings.Contains(strings.ToLower(i.Name), word) {
			continue
		}
		if c := w.look(ctx).card(word); way == stage.ViaDashboard {
			return c.Task.ID != 0 && w.approveOnPage(ctx, c.Task.ID) == nil
		} else {
			return w.approveInChat(c.Key)
		}
	}
	return w.board.Move(i.ID, "Approved") == nil
}

var hidden = regexp.MustCompile(`<input type="hidden" name="(form|key|commit|next)" value="([^"]*)">`)

// approveOnPage signs in, opens the review page of a task and presses Approve, as a browser does.
func (w *world) approveOnPage(ctx context.Context, id int64) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	browser := http.Client{Jar: jar}
	send := func(method, path string, form url.Values) (body []byte, err error) {
		req, err := http.NewRequestWithContext(ctx, method, w.dashboard()+path, strings.NewReader(form.Encode()))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", "http://"+w.service)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		return answer(browser.Do(req))
	}
	if _, err := send(http.MethodPost, "session", url.Values{"token": {adminToken}}); err != nil {
		return err
	}
	page, err := send(http.MethodGet, fmt.Sprintf("tasks/%d/review", id), nil)
	if err != nil {
		return err
	}
	form := url.Values{"column": {string(stage.StatusApproved)}}
	_, at, found := strings.Cut(string(page), `id="verdict-form"`)
	if !found {
		return fmt.Errorf("the review page of task %d has no form", id)
	}
	for _, f := range hidden.FindAllStringSubmatch(at, 4) {
		form.Set(f[1], f[2])
	}
	_, err = send(http.MethodPost, fmt.Sprintf("tasks/%d/decide", id), form)
	return err
}

// approveInChat presses Approve at the newest message of a card that has it.
func (w *world) approveInChat(key string) bool {
	for _, m := range slices.Backward(w.chat.Messages()) {
		if strings.HasPrefix(telegramtest.Plain(m.Text), key+":") && w.chat.Press(kim, m.ID, "Approve") {
			return true
		}
	}
	return false
}

func onPage(f facts) step {
	return tell("page", "A person approves on the review page",
		"What is asked, the documents and the words for an answer are on one page, and the word is about the commit "+
			"that was shown.").byWay(f, flawed, stage.ViaDashboard)
}

func inChat(f facts) step {
	return tell("chat", "A person approves in the chat",
		"The notice has buttons. The registry says whose account of the chat it is, and so what that person may "+
			"do.").byWay(f, stuck, stage.ViaChat)
}

// byWay is a step that a person takes by approving a card by some way.
func (s step) byWay(f facts, word string, way stage.Via) step {
	c := f.card(word)
	for _, e := range c.Task.Journal {
		r, err := (task.JournalEntry{Kind: e.Kind, Payload: e.Payload}).Recorded()
		if err == nil && r.Event.On == stage.OnApproved && r.Event.By.Via == way {
			return s.show(c, true, true, fmt.Sprintf("approved by %s (%s)", r.Event.By.Who(), way))
		}
	}
	return s.show(c, c.Task.ID != 0 && c.Column == "In Review", false, c.Why)
}

// What people are asked: by the analyst of a card, and of an undo.
const (
	question    = "For how long is a tile to be kept?"
	wordsOfUndo = "A person has to stand for this commit"
)

func answered(f facts) step {
	s := tell("answered", "An agent asks, and a person answers",
		"An agent that cannot go on leaves its questions and ends. The card waits in Needs Input; "+
			"the answer is given to the next run.")
	c := f.card(unclear)
	asked := slices.ContainsFunc(c.Comments, func(t string) bool { return strings.Contains(t, question) })
	n := 0
	for _, r := range c.Task.Runs {
		if r.Role == "analyst" && r.Status == "ok" {
			n++
		}
	}
	proof := "it asks: " + question
	if n > 1 {
		proof += " It was answered, and the analyst has finished"
	}
	return s.show(c, asked, asked && n > 1, proof)
}

func takenBack(f facts) step {
	s := tell("undone", "A person takes a merge back",
		"Undo on the page of a done task makes the revert, without an agent. CI tests it, a person approves it, "+
			"and it is merged and deployed as any other change.")
	c := f.card(undone)
	c.Task = c.Undo
	proof := c.Why
	if c.Task.MergeSHA != "" {
		proof = fmt.Sprintf("what %s has landed is taken back by %.12s", c.Task.Follows, c.Task.MergeSHA)
	}
	return s.show(c, c.Task.ID != 0, c.Task.Stage == stage.Done, proof)
}

// isUndone reports whether a person takes back what a card has landed.
func (w *world) isUndone(title string) bool { return strings.Contains(strings.ToLower(title), undone) }

// isUndo reports whether a branch takes back what another has landed.
func isUndo(branch string) bool { return strings.Contains(branch, "-undo") }

// undo takes back what the task of a card has landed, as the button of its page does.
func (w *world) undo(ctx context.Context) error {
	c := w.look(ctx).card(undone)
	if c.Undo.ID != 0 {
		return nil
	}
	_, err := w.send(ctx, http.MethodPost, fmt.Sprintf("/tasks/%d/undo", c.Task.ID))
	return err
}
