package labelboard

import (
	"cmp"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// scope is how the labels of the board begin.
const scope = "status/"

type wireUser struct {
	Login    string `json:"login"`
	Name     string `json:"name"`      // GitHub
	FullName string `json:"full_name"` // Gitea
	Email    string `json:"email"`
}

type wireLabel struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// column is the name of the column that a label stands for; ok is false for any other label.
func (l wireLabel) column() (name string, ok bool) {
	if len(l.Name) < len(scope) || !strings.EqualFold(l.Name[:len(scope)], scope) {
		return "", false
	}
	return strings.TrimSpace(l.Name[len(scope):]), true
}

type wireIssue struct {
	Number        int64           `json:"number"`
	Title         string          `json:"title"`
	Body          string          `json:"body"`
	State         string          `json:"state"`
	User          wireUser        `json:"user"`
	Labels        []wireLabel     `json:"labels"`
	CreatedAt     restclient.Time `json:"created_at"`
	UpdatedAt     restclient.Time `json:"updated_at"`
	PullRequest   *struct{}       `json:"pull_request"`   // of one
	RepositoryURL string          `json:"repository_url"` // GitHub
	Repository    struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
}

// columns are the names of the columns that an issue stands in: one, if all is well.
func (i wireIssue) columns() (out []string) {
	for _, l := range i.Labels {
		if name, ok := l.column(); ok {
			out = append(out, name)
		}
	}
	return out
}

type wireComment struct {
	ID        int64           `json:"id"`
	Body      string          `json:"body"`
	User      wireUser        `json:"user"`
	CreatedAt restclient.Time `json:"created_at"`
	UpdatedAt restclient.Time `json:"updated_at"`
}

// wireEntry is an entry of an issue's log.
type wireEntry struct {
	ID        int64           `json:"id"`
	Event     string          `json:"event"` // GitHub
	Actor     wireUser        `json:"actor"`
	Type      string          `json:"type"` // Gitea
	User      wireUser        `json:"user"`
	Body      string          `json:"body"`
	Label     wireLabel       `json:"label"`
	CreatedAt restclient.Time `json:"created_at"`
}

// move is the change of labels that an entry tells of; ok is false for another. At Gitea a label that is taken away has no body.
func (e wireEntry) move() (m move, ok bool) {
	added := e.Event == "labeled" || e.Type == "label" && e.Body == "1"
	m = move{id: e.ID, label: e.Label.Name, added: added, by: cmp.Or(e.Actor.Login, e.User.Login), at: e.CreatedAt.Time}
	return m, added || e.Event == "unlabeled" || e.Type == "label"
}

// move is a change of an issue's labels.
type move struct {
	id    int64
	label string
	added bool
	by    string
	at    time.Time
}

// convert makes an item of an issue that stands in a column since a moment; "" = in none.
func convert(projectID string, id string, i wireIssue, column string, at time.Time) tracker.Item {
	out := tracker.Item{
		ID: id, ProjectID: projectID, Sequence: i.Number, Title: strings.ToValidUTF8(i.Title, "\ufffd"), Description: visible(i.Body),
		Status: tracker.StatusCalled(column), StatusName: column, UpdatedAt: at,
	}
	for _, l := range i.Labels {
		if _, ours := l.column(); !ours {
			out.Labels = append(out.Labels, l.Name)
		}
	}
	out.Finished = i.State == "closed" || out.Status == stage.StatusDone
	return out
}
