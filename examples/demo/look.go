package main

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/internal/telegramtest"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// facts holds what can be seen of the demonstration at one moment: of the board,
// the git host and the chat directly, of the service by its API.
type facts struct {
	At      time.Time
	Alive   bool // the service answers
	Manual  bool
	Service string // its address, without a slash at its end
	Columns []string
	Cards   []seen
	Chat    []telegramtest.Message
}

// seen holds what can be seen of one card.
type seen struct {
	ID, Key, Title, Column string
	Task                   web.TaskDetail // of the service; its ID is 0 as long as there is none
	Undo                   web.TaskDetail // that which takes back what Task has landed; its ID is 0 as long as there is none
	Why                    string         // the service's words for why the task stands where it stands
	Changes                []planetest.Change
	Comments               []string
	Live                   telegramtest.Message // the live message; its ID is 0 as long as there is none
	Branch                 bool                 // the git host has a branch of it
}

// has reports whether the card is one that a word in its title makes special.
func (c seen) has(word string) bool { return strings.Contains(strings.ToLower(c.Title), word) }

// Working reports whether an agent is at work on the card.
func (c seen) Working() bool { return strings.Contains(c.Why, "is at work") }

// card finds the card with a word in its title; an empty one when there is none.
func (f facts) card(word string) seen {
	for _, c := range f.Cards {
		if c.has(word) {
			return c
		}
	}
	return seen{}
}

// Cost sums what agents have cost so far, in dollars.
func (f facts) Cost() (sum float64) {
	for _, c := range f.Cards {
		sum += c.Task.Totals.CostUSD
	}
	return sum
}

// looker looks at most every few moments, for any number of pages.
type looker struct {
	mu    sync.Mutex
	last  facts
	tasks map[string]seen // what the service said last, by card: it may be down
}

// freshFor is how long facts are good for.
const freshFor = 250 * time.Millisecond

// look gathers the facts.
func (w *world) look(ctx context.Context) facts {
	l := &w.looker
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.last.At) < freshFor {
		return l.last
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	f := facts{Manual: w.o.manual, Service: "http://" + w.service, Chat: w.chat.Messages()}
	for _, s := range w.board.States(w.projects[0].id) {
		f.Columns = append(f.Columns, s.Name)
	}
	l.readTasks(ctx, w, &f)
	changes := w.board.Changes()
	for _, i := range w.board.Items("") {
		c := l.tasks[i.ID]
		c.ID, c.Title, c.Column = i.ID, i.Name, i.StateName
		c.Key = fmt.Sprintf("%s-%d", w.board.Identifier(i.Project), i.Sequence)
		for _, m := range w.board.Comments(i.ID) {
			c.Comments = append(c.Comments, text(m.HTML))
		}
		for _, x := range changes {
			if x.Item == i.ID {
				c.Changes = append(c.Changes, x)
			}
		}
		for _, m := range f.Chat {
			if m.Silent && strings.HasPrefix(telegramtest.Plain(m.Text), c.Key+":") {
				c.Live = m
			}
		}
		for _, p := range w.projects {
			c.Branch = c.Branch || p.id == i.Project && w.branch(p, c.Key) != ""
		}
		f.Cards = append(f.Cards, c)
	}
	f.At = time.Now()
	l.last = f
	return f
}

// readTasks reads the service's tasks.
func (l *looker) readTasks(ctx context.Context, w *world, f *facts) {
	var list web.TaskList
	if f.Alive = w.api(ctx, "/tasks?limit=1000", &list) == nil; !f.Alive {
		return
	}
	if l.tasks == nil {
		l.tasks = map[string]seen{}
	}
	for _, t := range list.Tasks {
		issue, _ := task.ParseTombstone(t.TrackerIssueID)
		c, own := l.tasks[issue], web.TaskDetail{}
		var x struct{ Summary string }
		if w.api(ctx, fmt.Sprintf("/tasks/%d", t.ID), &own) == nil && w.api(ctx, fmt.Sprintf("/tasks/%d/explain", t.ID), &x) == nil {
			if c.Why = x.Summary; own.Follows != "" {
				c.Undo = own
			} else {
				c.Task = own
			}
			l.tasks[issue] = c
		}
	}
}

// api reads from the server.
func (w *world) api(ctx context.Context, path string, into any) error {
	body, err := w.send(ctx, http.MethodGet, path)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// send sends the server a request of its operator.
func (w *world) send(ctx context.Context, method, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+w.service+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	return answer(http.DefaultClient.Do(req))
}

// answer is the body of a response, which has to be 200.
func answer(resp *http.Response, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", resp.Request.URL.Path, resp.Status)
	}
	return io.ReadAll(resp.Body)
}

var markup = regexp.MustCompile(`<[^>]*>`)

// text is a comment without its markup.
func text(fragment string) string {
	return html.UnescapeString(markup.ReplaceAllString(strings.ReplaceAll(fragment, "<br/>", "\n"), ""))
}

// message is a chat message as its page shows it.
type message struct {
	ID     int
	Title  string
	Lines  []string
	At     time.Time
	Silent bool
	Edits  []edit // newest first
}

// edit is one edit of a message: the lines that came, and those that went.
type edit struct {
	Number    int
	New, Gone []string
}

// messages splits the chat into live messages, in the order of their first
// texts, and notices, newest first.
func messages(chat []telegramtest.Message) (live, notices []message) {
	for _, m := range chat {
		lines := strings.Split(strings.TrimSpace(telegramtest.Plain(m.Text)), "\n")
		out := message{ID: m.ID, Title: lines[0], Lines: lines[1:], At: m.At, Silent: m.Silent}
		texts := append(slices.Clone(m.Before), m.Text)
		for n := len(texts) - 1; n > 0; n-- {
			before, after := strings.Split(telegramtest.Plain(texts[n-1]), "\n"), strings.Split(telegramtest.Plain(texts[n]), "\n")
			out.Edits = append(out.Edits, edit{n, without(after, before), without(before, after)})
		}
		if m.Silent {
			live = append(live, out)
		} else {
			notices = append(notices, out)
		}
	}
	slices.Reverse(notices)
	return live, notices
}

// without is the lines of one text that the other has not.
func without(lines, other []string) (out []string) {
	for _, l := range lines {
		if strings.TrimSpace(l) != "" && !slices.Contains(other, l) {
			out = append(out, l)
		}
	}
	return out
}

// forget makes the next look a new one.
func (l *looker) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = facts{}
}
