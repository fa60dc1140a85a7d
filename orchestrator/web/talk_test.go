package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/queue"
)

// Programs replace and delete comments of their own, an administrator deletes any; nothing of that is an event.
func TestCommentsAreAmendedByTheAPI(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	call := d.card(t)
	key := call(access.Operator, "POST", "/cards", `{"board": "app", "title": "x"}`, 200).Key
	said := call(access.Operator, "POST", "/cards/"+key, `{"comment": "one"}`, 200).Comments
	at := "/cards/" + key + "/comments/" + said[0].ID
	jobs, err := d.store.Jobs(t.Context(), queue.Filter{Limit: 100})
	require.NoError(t, err)

	call(access.Approver, "PUT", at, `{"comment": "two"}`, 403)
	call(access.Admin, "PUT", at, `{"comment": "two"}`, 403)
	call(access.Viewer, "PUT", at, `{"comment": "two"}`, 403)
	call(access.Operator, "PUT", at, `{"comment": " "}`, 400)
	call(access.Operator, "PUT", at, `{"coment": "two"}`, 400)
	call(access.Operator, "PUT", at+"x", `{"comment": "two"}`, 400)
	got := call(access.Operator, "PUT", at, `{"comment": "two"}`, 200).Comments[0]
	require.Equal(t, "two", got.Body)
	require.NotZero(t, got.EditedAt)
	call(access.Approver, "DELETE", at, "", 403)
	for _, role := range []access.Role{access.Admin, access.Operator} {
		got = call(role, "DELETE", at, "", 200).Comments[0]
		require.Equal(t, []string{"", "the-admin"}, []string{got.Body, got.DeletedBy}, "who was the first")
	}
	call(access.Operator, "PUT", at, `{"comment": "three"}`, 400)

	after, err := d.store.Jobs(t.Context(), queue.Filter{Limit: 100})
	require.NoError(t, err)
	require.Len(t, jobs, len(after))
}
