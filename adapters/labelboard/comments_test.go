package labelboard_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// A service that was restarted looks for what it has posted; a person who quotes it with all
// that is hidden in it, or posts it first, changes nothing.
func TestCommentsAreFoundAgain(t *testing.T) {
	inEach(t, func(t *testing.T, c *labelboard.Client, d *double) {
		d.columns(all()...)
		d.issues.SetPageMax(2)
		id := d.card("t", "d")
		n := number(t, id)
		const key = "7/3/0 -->"
		c2 := tracker.NewComment{ProjectID: repo, ItemID: id, Author: stage.Reviewer, Key: key, Body: "fine"}
		first, err := c.AddComment(t.Context(), c2)
		require.NoError(t, err)
		theirs := d.issues.Issue(repo, n).Comments[0].Body
		require.Equal(t, 1, strings.Count(theirs, "-->"), "the key ends nothing")
		for range 3 {
			require.NoError(t, d.issues.Say(repo, n, kim, "> "+theirs+"\nno"))
			require.NoError(t, d.issues.Say(repo, n, kim, theirs))
		}
		require.NoError(t, d.issues.Say(repo, n, d.self, "by hand, with our account"))
		again := client(t, d.url, d.kind, nil) // which has not identified itself
		second, err := again.AddComment(t.Context(), c2)
		require.NoError(t, err)
		require.Equal(t, first, second)
		c2.Body = "not fine"
		require.NoError(t, again.SetComment(t.Context(), c2))
		list, err := again.Comments(t.Context(), repo, id)
		require.NoError(t, err)
		require.Len(t, list, 8)
		for i, one := range list {
			require.Equal(t, i == 0, one.Own)
		}
		require.Equal(t, "not fine", list[0].Body)
		require.NotContains(t, list[1].Body, "signalbox:")

		other := d.card("t", "d")
		require.NoError(t, d.issues.Say(repo, number(t, other), kim, "mine\n\n<!-- signalbox:another -->"))
		c2.ItemID, c2.Key = other, "another"
		_, err = c.AddComment(t.Context(), c2)
		require.NoError(t, err)
		require.Len(t, d.issues.Issue(repo, number(t, other)).Comments, 2)
	})
}

// A comment whose answer was lost is found by the next try.
func TestALostAnswer(t *testing.T) {
	for _, kind := range kinds() {
		c, d := setup(t, kind, nil)
		id := d.onBoard("t", "d")
		d.meet(calls(kind)["AddComment"], fakehttp.DroppedLate)
		n := tracker.NewComment{ProjectID: repo, ItemID: id, Key: "1/1/1", Body: "once"}
		_, err := c.AddComment(t.Context(), n)
		require.True(t, fault.Retryable(err))
		_, err = c.AddComment(t.Context(), n)
		require.NoError(t, err)
		require.Len(t, d.issues.Issue(repo, number(t, id)).Comments, 1)
	}
}

// A comment that somebody has deleted is posted again when it is to be brought up to date.
func TestADeletedComment(t *testing.T) {
	inEach(t, func(t *testing.T, c *labelboard.Client, d *double) {
		id := d.onBoard("t", "d")
		n := tracker.NewComment{ProjectID: repo, ItemID: id, Key: "waits/1", Body: "Waits."}
		require.NoError(t, c.SetComment(t.Context(), n))
		d.issues.DeleteComments(repo, number(t, id))
		n.Body = "Goes on."
		require.True(t, fault.Retryable(c.SetComment(t.Context(), n)))
		require.NoError(t, c.SetComment(t.Context(), n))
		require.Len(t, d.issues.Issue(repo, number(t, id)).Comments, 1)
	})
}

// A text of any length is posted, its links and its key included.
func TestALongComment(t *testing.T) {
	inEach(t, func(t *testing.T, c *labelboard.Client, d *double) {
		id := d.onBoard("t", "d")
		n := tracker.NewComment{ProjectID: repo, ItemID: id, Key: "1/1/1", Body: strings.Repeat("@a ", 100_000), Note: "the end"}
		for range 2 {
			_, err := c.AddComment(t.Context(), n)
			require.NoError(t, err)
		}
		list, err := c.Comments(t.Context(), repo, id)
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.True(t, strings.HasSuffix(list[0].Body, "…\n\nthe end"))
	})
}

func TestUnidentified(t *testing.T) {
	t.Parallel()
	d := open(t, onGitHub, nil)
	c := client(t, d.url, d.kind, nil)
	_, err := c.Own(kim)
	require.ErrorIs(t, err, tracker.ErrUnidentified)
	_, err = c.Comments(t.Context(), repo, d.id(repo, 1))
	require.ErrorIs(t, err, tracker.ErrUnidentified)
	d.columns(all()...)
	_, err = c.AddComment(t.Context(), tracker.NewComment{ProjectID: repo, ItemID: d.card("t", "d"), Key: "1/1/1", Body: "b"})
	require.NoError(t, err, "it identifies itself")
	for account, want := range map[string]bool{d.self: true, strings.ToUpper(d.self): true, kim: false, "": false} {
		own, err := c.Own(account)
		require.NoError(t, err)
		require.Equal(t, want, own, account)
	}

	wrong := client(t, d.url, d.kind, func(o *labelboard.Options) { o.Issues = issues(t, d.kind, d.url, "revoked", nil, nil) })
	require.Error(t, wrong.Identify(t.Context()))
	_, err = wrong.AddComment(t.Context(), tracker.NewComment{ProjectID: repo, ItemID: d.id(repo, 1), Key: "1/1/2", Body: "b"})
	require.ErrorContains(t, err, "401")
	_, err = wrong.Own("")
	require.ErrorIs(t, err, tracker.ErrUnidentified)
}
