package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who has made a comment changes it on the page; others see that it was changed, and what it said before.
func TestCommentsAreAmendedOnThePage(t *testing.T) {
	d := signedIn(t)
	card := d.made("one")
	require.Equal(t, http.StatusSeeOther, d.post(card+"/say", url.Values{"key": {"k"}, "body": {"It is **blue**."}}).status)
	jobs := len(d.events())
	id := card[strings.LastIndex(card, "/")+1:]
	s, err := d.board.Story(t.Context(), id)
	require.NoError(t, err)
	at := card + "/comments/" + s.Comments[0].ID
	page := func() string { return d.request(http.MethodGet, card, nil).body }
	require.Contains(t, page(), `action="../../board/cards/`+id+`/comments/`)

	wrong := d.post(at, url.Values{"form": {"amend"}, "other": {s.Comments[0].ID}, "body": {"  "}})
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	require.Contains(t, wrong.body, "The comment is empty.")
	require.Contains(t, wrong.body, `<details id="cd-`+s.Comments[0].ID+`" open>`)
	require.Equal(t, http.StatusForbidden, d.post(at, url.Values{"body": {"red"}}, "Sec-Fetch-Site", "cross-site").status)
	changed := d.post(at, url.Values{"body": {"It is red " + evil}})
	require.Equal(t, http.StatusSeeOther, changed.status)
	require.True(t, strings.HasSuffix(changed.header.Get("Location"), "?said=said#c-"+s.Comments[0].ID), changed.header.Get("Location"))
	require.Contains(t, page(), ", edited <")
	require.Contains(t, page(), "It is **blue**.</p></details>", "what it said before")
	require.NotContains(t, page(), evil)

	mine := d.cookie
	d.cookie = nil
	require.Equal(t, http.StatusForbidden, d.post(at, url.Values{"name": {"Lee"}, "body": {"mine"}}).status)
	require.Contains(t, page(), "Delete…", "an administrator's")
	require.NotContains(t, page(), "What it is to say")
	d.cookie = mine
	for range 2 {
		require.Equal(t, http.StatusSeeOther, d.post(at, url.Values{"delete": {"1"}, "body": {"x"}}).status)
	}
	require.Contains(t, page(), "deleted by <bdi>Kim</bdi>")
	require.NotContains(t, page(), "It is", "of a comment that is deleted nothing is shown, neither what it had said")
	require.Len(t, d.events(), jobs, "neither is an event")
}
