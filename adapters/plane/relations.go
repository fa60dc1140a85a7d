package plane

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/signalbox-dev/signalbox/tracker"
)

// related is a prerequisite: an id (Plane 1.3.0), or an id with its project
// (from 1.3.1 on).
type related struct{ project, item string }

// UnmarshalJSON reads both forms.
func (r *related) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &r.item) == nil {
		return nil
	}
	var object struct {
		Project string `json:"project_id"`
		Item    string `json:"issue_id"`
	}
	err := json.Unmarshal(raw, &object)
	r.project, r.item = object.Project, object.Item
	if err == nil && r.item == "" {
		err = errors.New("a relation without an issue")
	}
	return err
}

// BlockedBy implements tracker.Relations. Plane before 1.3.0 does not serve
// relations.
func (c *Client) BlockedBy(ctx context.Context, projectID, itemID string) ([]tracker.Ref, error) {
	var out struct {
		BlockedBy []related `json:"blocked_by"`
	}
	at := c.item(projectID, itemID) + "relations/"
	err := c.call(ctx, call{path: at, out: &out})
	var e *Error
	if errors.As(err, &e) && e.unserved {
		return nil, fmt.Errorf("%w: %w", tracker.ErrNoRelations, err)
	}
	if err != nil {
		return nil, err
	}
	if out.BlockedBy == nil {
		return nil, unreadable(at, "without blocked_by")
	}
	refs := []tracker.Ref{}
	for _, r := range out.BlockedBy {
		r.project = cmp.Or(r.project, projectID)
		refs = append(refs, tracker.Ref{ProjectID: r.project, ItemID: r.item})
	}
	return refs, nil
}
