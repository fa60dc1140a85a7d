package plane

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/signalbox-dev/signalbox/tracker"
)

// ErrSignature says that a webhook is not signed with the secret.
var ErrSignature = errors.New("plane: the webhook's signature is missing or wrong")

// Verify implements tracker.Receiver. Without a secret nothing passes, unless
// Options.Insecure says so.
func (c *Client) Verify(h http.Header, body []byte) error {
	if c.opt.Secret == "" {
		if c.opt.Insecure {
			return nil
		}
		return ErrSignature
	}
	given, err := hex.DecodeString(h.Get("X-Plane-Signature"))
	if err != nil || !hmac.Equal(given, Sign(c.opt.Secret, body)) {
		return ErrSignature
	}
	return nil
}

// Sign is the signature of a body: HMAC-SHA256 under the secret.
func Sign(secret string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return mac.Sum(nil)
}

// Delivery implements tracker.Receiver. Plane makes a new id for each attempt.
func (c *Client) Delivery(h http.Header) (id, event string) {
	return h.Get("X-Plane-Delivery"), h.Get("X-Plane-Event")
}

// envelope is a webhook of either version.
type envelope struct {
	Version  string `json:"version"`
	Event    string `json:"event"`
	Action   string `json:"action"`
	Data     data   `json:"data"`
	Activity struct {
		Field *string `json:"field"`
		Actor struct {
			ID string `json:"id"`
		} `json:"actor"`
	} `json:"activity"`
	EntityID string                     `json:"entity_id"`           // v2
	Previous map[string]json.RawMessage `json:"previous_attributes"` // v2
}

type data struct {
	ID             string `json:"id"`
	Project        string `json:"project"`
	ProjectID      string `json:"project_id"` // v2
	Issue          string `json:"issue"`      // comments
	HTML           string `json:"comment_html"`
	ExternalSource string `json:"external_source"`
	UpdatedBy      string `json:"updated_by_id"` // v2
}

// Decode implements tracker.Receiver.
func (c *Client) Decode(event string, body []byte) (tracker.Hook, error) {
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return tracker.Hook{}, fmt.Errorf("plane: the payload cannot be read: %w", err)
	}
	if e.Event == "" {
		e.Event = event
	}
	h := tracker.Hook{Kind: tracker.HookOther, Event: e.Event, ItemID: e.Data.ID, ProjectID: e.Data.Project, ActorID: e.Activity.Actor.ID}
	if e.Version != "" {
		e.decodeV2(&h)
	} else {
		e.decodeV1(&h)
	}
	h.Self = h.ActorID != "" && c.isOwn(h.ActorID) || h.Kind == tracker.HookComment && e.Data.ExternalSource == c.opt.Source
	if h.Kind != tracker.HookOther && (h.ItemID == "" || h.ProjectID == "") {
		return tracker.Hook{}, fmt.Errorf("plane: a webhook of %q without an item or a project", e.Event)
	}
	return h, nil
}

func (e envelope) decodeV1(h *tracker.Hook) {
	h.Event = e.Event + "." + e.Action
	switch h.Event {
	case "issue.created":
		h.Kind = tracker.HookItemCreated
	case "issue.updated":
		h.Kind = tracker.HookItemUpdated
		h.Status = e.Activity.Field != nil && (*e.Activity.Field == "state_id" || *e.Activity.Field == "state")
	case "issue_comment.created", "issue_comment.updated":
		h.Kind, h.ItemID, h.Body = tracker.HookComment, e.Data.Issue, StripHTML(e.Data.HTML)
	}
}

// decodeV2 reads the newer form, which names no actor but the last editor.
func (e envelope) decodeV2(h *tracker.Hook) {
	h.ProjectID, h.ActorID = e.Data.ProjectID, e.Data.UpdatedBy
	if h.ItemID == "" {
		h.ItemID = e.EntityID
	}
	switch strings.ToLower(strings.ReplaceAll(e.Event, "WebhookScope.ScopeChoices.WORK_ITEM_", "workitem.")) {
	case "workitem.created":
		h.Kind = tracker.HookItemCreated
	case "workitem.updated":
		h.Kind = tracker.HookItemUpdated
		_, h.Status = e.Previous["state_id"]
	case "workitem.comment.created", "workitem.comment.updated":
		h.Kind, h.Body = tracker.HookComment, StripHTML(e.Data.HTML)
		if e.Data.Issue != "" {
			h.ItemID = e.Data.Issue
		}
	}
}
