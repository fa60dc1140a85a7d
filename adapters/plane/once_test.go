package plane_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Plane looks for a comment's key and inserts then. While its table is locked for a while all
// attempts find nothing; the comment is there once all the same.
func TestCommentDuringAStall(t *testing.T) {
	limited(t, 60, func(s *shop) {
		c := s.client()
		s.server.Stall(75 * time.Second)
		n := tracker.NewComment{ProjectID: s.project, ItemID: s.item, Key: "1/1/1", Body: "once"}
		_, err := c.AddComment(s.Context(), n)
		require.True(t, fault.Retryable(err), "%v", err)
		require.Equal(t, 1, s.server.Requests()["POST work-items/*/comments"], "a time-out is not repeated at once")
		s.server.Stall(0)
		time.Sleep(time.Minute)
		n.Again = true
		id, err := c.AddComment(s.Context(), n)
		require.NoError(t, err)
		require.Equal(t, s.server.Comments(s.item)[0].ID, id)
		require.Len(t, s.server.Comments(s.item), 1)
		require.Equal(t, 1, s.server.Requests()["POST work-items/*/comments"], "it was looked for")
	})
}

// The engine says of its second try that there was a first.
func TestEngineDuringAStall(t *testing.T) {
	engine(t, func(_ *rig, s *planetest.Options, _ *plane.Options) { s.RateLimit = 60 }, func(p *rig) {
		item := p.card("one")
		p.plane.Stall(75 * time.Second)
		p.begin(item)
		p.Settle(5 * time.Minute)
		p.plane.Stall(0)
		p.Settle(10 * time.Minute)
		said := map[string]int{}
		for _, c := range p.plane.Comments(item) {
			said[c.ExternalID]++
		}
		require.Equal(p, 2, len(said), said)
		for key, n := range said {
			require.Equal(p, 1, n, key)
		}
	})
}

// What Plane says of single fields is in the error.
func TestErrorsOfFields(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"state":["Invalid pk \"x\" - object does not exist."]}`:         `400 Bad Request: state: Invalid pk "x" - object does not exist.`,
		`{"name":["Too long.","Too dull."],"priority":["Not a choice."]}`: "400 Bad Request: name: Too long. Too dull.: priority: Not a choice.",
		`{"non_field_errors":["State is not valid"]}`:                     "400 Bad Request: State is not valid",
		`{"name":{"deep":1},"id":7}`:                                      "400 Bad Request",
		`["x"]`:                                                           "400 Bad Request",
	} {
		c, _ := replay(t, map[string]answer{"GET " + atItem: {status: 400, text: text}})
		_, err := c.Item(t.Context(), projectID, itemID)
		require.Equal(t, "plane: "+projectID+"/work-items/"+itemID+"/: "+want, "plane: "+err.Error()[len("plane: GET "):])
	}
}
