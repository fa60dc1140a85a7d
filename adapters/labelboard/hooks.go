package labelboard

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// edge has no name that an importer sees.
type edge = restclient.Edge

// scheme is that of both hosts, GitHub's.
var scheme = signature.Scheme{In: []signature.Place{{Header: "X-Hub-Signature-256", Prefix: "sha256="}}}

// Habits implements tracker.Receiver.
func (c *Client) Habits() signature.Habits { return c.opt.Issues.Habits }

// Delivery implements tracker.Receiver. At GitHub the id stays when it sends again; Gitea's own
// names are more exact than those that it has from GitHub.
func (c *Client) Delivery(h http.Header) (id, event string) {
	id = cmp.Or(h.Get("X-Gitea-Delivery"), h.Get("X-GitHub-Delivery"))
	event = cmp.Or(h.Get("X-Gitea-Event-Type"), h.Get("X-Gitea-Event"), h.Get("X-GitHub-Event"))
	return id, event
}

// payload holds what is read of webhooks, of all kinds.
type payload struct {
	Action     string      `json:"action"`
	Issue      wireIssue   `json:"issue"`
	Label      wireLabel   `json:"label"` // GitHub: that was given or taken away
	Comment    wireComment `json:"comment"`
	IsPull     bool        `json:"is_pull"` // Gitea
	Sender     wireUser    `json:"sender"`
	Repository struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
}

// Decode implements tracker.Receiver. What is about a pull request is of no interest.
func (c *Client) Decode(event string, body []byte) (none tracker.Hook, err error) {
	issues := slices.Contains([]string{"issues", "issue_label", "issue_assign", "issue_milestone"}, event)
	if !issues && event != "issue_comment" {
		if !json.Valid(body) {
			return none, errors.New("labelboard: the payload is not JSON")
		}
		return tracker.Hook{Kind: tracker.HookOther, Event: event}, nil
	}
	var p payload
	if err := json.Unmarshal(body, &p); err != nil {
		return none, fmt.Errorf("labelboard: the payload of %q cannot be read: %w", event, err)
	}
	h := tracker.Hook{Kind: tracker.HookOther, Event: event + "." + p.Action}
	if p.IsPull || p.Issue.PullRequest != nil {
		return h, nil
	}
	if issues {
		p.decodeIssue(&h)
	} else if p.Action == "created" || p.Action == "edited" {
		h.Kind, h.At, h.Body = tracker.HookComment, p.Comment.UpdatedAt.Time, visible(p.Comment.Body)
	}
	if h.Kind == tracker.HookOther {
		return h, nil
	}
	h.ProjectID, h.ActorID = p.Repository.FullName, p.Sender.Login
	h.Actor = tracker.Person{ID: h.ActorID, Name: cmp.Or(p.Sender.Name, p.Sender.FullName), Email: p.Sender.Email}
	if h.ProjectID == "" || p.Issue.Number <= 0 {
		return none, fmt.Errorf("labelboard: a webhook of %q without an issue or a repository", event)
	}
	h.ItemID = c.ItemID(h.ProjectID, p.Issue.Number)
	h.Unsigned = restclient.TakesUnsigned(c.edge)
	h.Self, _ = c.Own(h.ActorID) // while that is not known yet, it is judged later by the actor
	return h, nil
}

// decodeIssue reads what has happened to an issue. Only GitHub's webhook of a label that was
// given names the column, and so proves who has moved the issue there; of the others the log
// does. A STOP is taken from Gitea's too: anybody may set it, and a write of ours may overwrite it.
func (p payload) decodeIssue(h *tracker.Hook) {
	h.Kind, h.At = tracker.HookItemUpdated, p.Issue.UpdatedAt.Time
	switch p.Action {
	case "opened":
		h.Kind = tracker.HookItemCreated
	case "deleted", "transferred":
		h.Kind = tracker.HookItemRemoved
	case "labeled":
		h.To, h.Status = p.Label.column()
	case "unlabeled":
		_, h.Status = p.Label.column()
	case "label_updated", "label_cleared":
		h.Status = true
		for _, column := range p.Issue.columns() {
			if tracker.StatusCalled(column) == stage.StatusStop {
				h.To = column
			}
		}
	}
	h.Word = tracker.StatusCalled(h.To)
	if h.Status && h.To == "" {
		h.Proof = stage.ProofNone
	}
}
