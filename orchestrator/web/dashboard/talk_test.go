package dashboard_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
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

// A card that got no task stands among what waits for a person, on every page that counts it, and the form there sets To
// Analyse again; it is gone from there when it was changed or archived.
func TestRefusedCardNeedsAPerson(t *testing.T) {
	d := signedIn(t)
	card := d.made("one")
	id := card[strings.LastIndex(card, "/")+1:]
	refuse := func(project string) {
		text, err := json.Marshal(orchestrator.Refusal{Project: project, Repo: repo, Key: "APP-1", Title: "one " + evil, Why: "QG-0: too short " + evil})
		require.NoError(t, err)
		require.NoError(t, d.store.Commit(t.Context(), task.Commit{Facts: []task.Fact{{Kind: "refused", Of: id, Text: string(text)}}}))
		time.Sleep(300 * time.Millisecond) // pages read the revision five times a second
	}
	refuse("gone")
	require.Contains(t, d.request(http.MethodGet, "/review", nil).body, "Nothing waits", "its board is not registered")
	for round, leave := range []func() answer{
		func() answer {
			return d.post(card+"/edit", url.Values{"version": {"1"}, "title": {"two"}, "name": {"Kim"}})
		},
		func() answer { return d.post(card+"/arrange", url.Values{"kind": {"archived"}}) },
	} {
		refuse(project)
		for _, path := range []string{"/", "/review"} {
			page := d.request(http.MethodGet, path, nil).body
			require.Regexp(t, `<form method="post" action="[./]*board/cards/`+id+`/move"><input type="hidden" name="form" value="move"><button type="submit" name="column" value="to_analyse">To Analyse again`, page, path)
			require.Contains(t, page, "Was not begun: QG-0: too short", path)
			require.NotContains(t, page, "<script>alert", path)
			require.Contains(t, page, `id="needs-n">1<`, path)
		}
		d.bearer = ""
		page := d.request(http.MethodGet, "/review", nil).body
		require.Contains(t, page, "QG-0: too short")
		require.NotContains(t, page, `value="to_analyse"`, "who only reads")
		d.bearer = token
		require.Equal(t, http.StatusSeeOther, leave().status, round)
		require.Contains(t, d.request(http.MethodGet, "/review", nil).body, "Nothing waits", round)
	}
}
