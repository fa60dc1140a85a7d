package plane

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// wireItem is a work item of the REST API.
type wireItem struct {
	ID        string
	Name      string
	HTML      string `json:"description_html"`
	Sequence  int64  `json:"sequence_id"`
	State     stateID
	Labels    labels
	Project   string
	UpdatedAt restclient.Time `json:"updated_at"`
}

type wireComment struct {
	ID             string
	Actor          string
	HTML           string          `json:"comment_html"`
	ExternalSource string          `json:"external_source"`
	ExternalID     string          `json:"external_id"`
	CreatedAt      restclient.Time `json:"created_at"`
}

// stateID is a state given as its id, or expanded to an object.
type stateID string

// UnmarshalJSON reads both forms; null is no state.
func (s *stateID) UnmarshalJSON(raw []byte) error {
	var object struct{ ID string }
	if len(raw) > 0 && raw[0] == '{' {
		err := json.Unmarshal(raw, &object)
		*s = stateID(object.ID)
		return err
	}
	var id *string
	if err := json.Unmarshal(raw, &id); err != nil {
		return err
	}
	if id != nil {
		*s = stateID(*id)
	}
	return nil
}

// labels are the names of expanded labels.
type labels []string

// UnmarshalJSON is lenient: labels of another form must not hide an item.
func (l *labels) UnmarshalJSON(raw []byte) error {
	var list []struct{ Name string }
	if json.Unmarshal(raw, &list) == nil {
		for _, one := range list {
			*l = append(*l, one.Name)
		}
	}
	return nil
}

// convert makes an item of the board that it is on.
func (c *Client) convert(w wireItem, b board) tracker.Item {
	status := b.keys[string(w.State)]
	return tracker.Item{
		ID: w.ID, ProjectID: w.Project, Sequence: w.Sequence,
		Title: strings.ToValidUTF8(w.Name, "\ufffd"), Description: toMarkdown(w.HTML, c.placeOf(w.Project)),
		Labels: w.Labels, Status: status, StatusName: b.names[string(w.State)], UpdatedAt: w.UpdatedAt.Time,
		Finished: b.ended[string(w.State)] || status == stage.StatusDone,
	}
}

// ItemURL implements tracker.Linker.
func (c *Client) ItemURL(projectID, itemID string) string {
	workspace := strings.TrimSuffix(c.opt.BaseURL, "/") + "/" + url.PathEscape(c.opt.Workspace)
	return workspace + "/projects/" + url.PathEscape(projectID) + "/issues/" + url.PathEscape(itemID)
}
