package plane

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// edge has no name that an importer sees.
type edge = restclient.Edge

// scheme is how Plane signs.
var scheme = signature.Scheme{In: []signature.Place{{Header: "X-Plane-Signature"}}}

// Habits implements tracker.Receiver. Plane waits 30 s, and sends again only what it got no
// answer to.
func (c *Client) Habits() signature.Habits {
	return signature.Habits{Limit: 1 << 20, Hold: 20 * time.Second, Abort: true}
}

// Delivery implements tracker.Receiver. Plane makes a new id for each attempt.
func (c *Client) Delivery(h http.Header) (id, event string) {
	return h.Get("X-Plane-Delivery"), h.Get("X-Plane-Event")
}

// envelope is a webhook of either version.
type envelope struct {
	Version  json.RawMessage // only from v2 on
	Event    string
	Action   string
	Data     data
	Activity struct {
		Field *string
		New   json.RawMessage `json:"new_value"` // of any type
		Actor struct {
			ID    string
			Name  string `json:"display_name"`
			Email string
		} `json:"actor"`
	} `json:"activity"`
	EntityID string                     `json:"entity_id"`           // v2
	Previous map[string]json.RawMessage `json:"previous_attributes"` // v2
}

type data struct {
	ID             string
	Project        string
	Issue          string          // comments
	HTML           string          `json:"comment_html"`
	ExternalSource string          `json:"external_source"`
	UpdatedAt      restclient.Time `json:"updated_at"`

	State json.RawMessage // an object, or its id

	// v2
	ProjectID string `json:"project_id"`
	StateID   string `json:"state_id"`
	UpdatedBy string `json:"updated_by_id"`
	Comment   struct {
		IssueID        string `json:"issue_id"`
		ActorID        string `json:"actor_id"`
		HTML           string `json:"comment_html"`
		Stripped       string `json:"comment_stripped"`
		ExternalSource string `json:"external_source"`
	} `json:"comment"`
}

// Decode implements tracker.Receiver.
func (c *Client) Decode(event string, body []byte) (tracker.Hook, error) {
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return tracker.Hook{}, fmt.Errorf("plane: the payload cannot be read: %w", err)
	}
	e.Event = cmp.Or(e.Event, event)
	h := tracker.Hook{Kind: tracker.HookOther, At: e.Data.UpdatedAt.Time}
	var source string
	if len(e.Version) > 0 && string(e.Version) != "null" {
		source = e.decodeV2(&h)
	} else {
		source = e.decodeV1(&h)
	}
	if h.Kind != tracker.HookOther && (h.ItemID == "" || h.ProjectID == "") {
		return tracker.Hook{}, fmt.Errorf("plane: a webhook of %q without an item or a project", e.Event)
	}
	if h.Kind != tracker.HookOther && !(uuid.MatchString(h.ItemID) && uuid.MatchString(h.ProjectID)) {
		return tracker.Hook{}, fmt.Errorf("plane: a webhook of %q about %.60q in %.60q, of which an id is no UUID",
			e.Event, h.ItemID, h.ProjectID)
	}
	h.Unsigned = restclient.TakesUnsigned(c.edge)
	if h.Kind == tracker.HookComment {
		h.Self = source == c.opt.Source
		return h, nil
	}
	if h.Status && h.To != "" {
		c.read(&h, e.Data.state())
	}
	h.Self, _ = c.Own(h.ActorID) // while that is not known yet, it is judged later by the actor
	return h, nil
}

// state is the one that the payload shows.
func (d data) state() (s wireState) {
	if json.Unmarshal(d.State, &s) != nil {
		_ = json.Unmarshal(d.State, &s.ID) // else there is none
	}
	return s
}

// read fills in what the column of a move means, by what is cached of the board, else by its name. Plane
// writes a payload when it sends it: one that shows another state by then has the time of that move.
func (c *Client) read(h *tracker.Hook, shown wireState) {
	is := shown.ID == h.To || strings.EqualFold(shown.Name, h.To)
	if shown.ID != "" && !is {
		h.At = time.Time{}
	}
	if is && shown.isFinished() {
		h.Finished, h.Column = true, shown.Name
	}
	known, _ := c.boards.Get(h.ProjectID)
	if h.Word = known.status(h.To); h.Word == stage.StatusUnknown && is {
		h.Word = tracker.StatusCalled(shown.Name)
	}
}

// decodeV1 reads the community edition's form, and gives a comment's source.
func (e envelope) decodeV1(h *tracker.Hook) (source string) {
	h.Event = e.Event + "." + e.Action
	h.ItemID, h.ProjectID, h.ActorID = e.Data.ID, e.Data.Project, e.Activity.Actor.ID
	h.Actor = tracker.Person{ID: h.ActorID, Name: e.Activity.Actor.Name, Email: e.Activity.Actor.Email}
	switch h.Event {
	case "issue.created":
		h.Kind = tracker.HookItemCreated
	case "issue.updated":
		field := ""
		if e.Activity.Field != nil {
			field = *e.Activity.Field
		}
		if field == "sort_order" { // a second one comes of each drag
			break
		}
		h.Kind = tracker.HookItemUpdated
		h.Browser = field == "state_id" // the API calls it state
		h.Status = h.Browser || field == "state"
		if h.Status && json.Unmarshal(e.Activity.New, &h.To) != nil {
			h.To = "" // not a text: absent
		}
	case "issue_comment.created", "issue_comment.updated":
		h.Kind, h.ItemID, h.Body = tracker.HookComment, e.Data.Issue, toMarkdown(e.Data.HTML, place{})
	}
	return e.Data.ExternalSource
}

// decodeV2 reads the newer form, which names no actor but the last editor, and
// keeps a comment within its work item. It gives a comment's source.
func (e envelope) decodeV2(h *tracker.Hook) (source string) {
	h.Event = eventV2(e.Event)
	h.ItemID, h.ProjectID, h.ActorID = cmp.Or(e.Data.ID, e.EntityID), e.Data.ProjectID, given(e.Data.UpdatedBy)
	switch h.Event {
	case "workitem.created":
		h.Kind = tracker.HookItemCreated
	case "workitem.updated":
		h.Kind = tracker.HookItemUpdated
		if _, h.Status = e.Previous["state_id"]; h.Status {
			h.To = given(e.Data.StateID)
		}
	case "workitem.comment.created", "workitem.comment.updated":
		said := e.Data.Comment
		h.Kind, h.ItemID, h.ActorID = tracker.HookComment, cmp.Or(given(said.IssueID), h.ItemID), given(said.ActorID)
		h.Body = cmp.Or(toMarkdown(said.HTML, place{}), strings.TrimSpace(said.Stripped))
	}
	return e.Data.Comment.ExternalSource
}

// eventV2 is the event's name; some servers send the name of the constant, such
// as WebhookScope.ScopeChoices.WORK_ITEM_UPDATED, in its place.
func eventV2(name string) string {
	constant, ok := strings.CutPrefix(name, "WebhookScope.ScopeChoices.")
	if !ok {
		return name
	}
	constant = strings.Replace(strings.ToLower(constant), "work_item", "workitem", 1)
	return strings.ReplaceAll(constant, "_", ".")
}

// given is an id, and empty for the word that v2 writes in place of null.
func given(id string) string {
	if id == "None" {
		return ""
	}
	return id
}
