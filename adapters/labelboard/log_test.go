package labelboard_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// The newest move is found on whatever page it is, and among other labels and comments.
func TestLongLog(t *testing.T) {
	inEach(t, func(t *testing.T, c *labelboard.Client, d *double) {
		d.columns(all()...)
		d.issues.AddLabel(repo, "bug")
		id := d.card("t", "d")
		for range 8 {
			d.move(t, id, stage.StatusInReview)
			require.NoError(t, c.SetStatus(t.Context(), repo, id, stage.StatusAnalysis))
			require.NoError(t, d.issues.Label(repo, number(t, id), kim, "bug"))
			require.NoError(t, d.issues.Say(repo, number(t, id), kim, "1"))
			require.NoError(t, d.issues.Unlabel(repo, number(t, id), kim, "bug"))
		}
		require.NoError(t, d.issues.Label(repo, number(t, id), "ann", label(stage.StatusApproved)))
		d.issues.SetPageMax(3)
		m, err := c.LastMove(t.Context(), repo, id)
		require.NoError(t, err)
		require.Equal(t, []string{"ann", "APPROVED"}, []string{m.ActorID, m.To})
	})
}

// What an issue stands at counts, not what was done last: who takes a label away that was given on top of another has not given the other.
func TestWhoseLabelStays(t *testing.T) {
	t.Parallel()
	c, d := setup(t, onGitHub, nil)
	id := d.onBoard("t", "d")
	n := number(t, id)
	require.NoError(t, d.issues.Label(repo, n, "ann", label(stage.StatusApproved)))
	require.NoError(t, d.issues.Label(repo, n, kim, label(stage.StatusRejected)))
	require.NoError(t, d.issues.Unlabel(repo, n, kim, label(stage.StatusRejected)))
	m, err := c.LastMove(t.Context(), repo, id)
	require.NoError(t, err)
	require.Equal(t, []string{"ann", "APPROVED"}, []string{m.ActorID, m.To})

	require.NoError(t, d.issues.Unlabel(repo, n, kim, label(stage.StatusApproved)))
	m, err = c.LastMove(t.Context(), repo, id)
	require.NoError(t, err)
	require.Equal(t, []string{kim, ""}, []string{m.ActorID, m.To}, "out of all columns")
}

// Taking a label away puts nothing anywhere, in whatever order a log has what was done in one second.
func TestALogInAnotherOrder(t *testing.T) {
	t.Parallel()
	c := says(t, onGitHub, time.Now(), func(w http.ResponseWriter, r *http.Request) {
		text := `{"number":1,"title":"t","labels":[{"id":1,"name":"status/Approved"}]}`
		if strings.HasSuffix(r.URL.Path, "/events") {
			text = `[{"id":3,"event":"labeled","actor":{"login":"ann"},"label":{"name":"Status/approved"},"created_at":"2031-01-01T00:00:00Z"},
				{"id":1,"event":"labeled","actor":{"login":"kim"},"label":{"name":"status/Approved"},"created_at":"2031-01-01T00:00:00Z"},
				{"event":"unlabeled","actor":{"login":"kim"},"label":{"name":"status/Approved"},"created_at":"2031-01-01T00:00:00Z"},
				{"event":"renamed","actor":{"login":"kim"},"created_at":"2031-01-01T00:00:01Z"}, {"event":"labeled","actor":null,"created_at":null}]`
		}
		_, _ = w.Write([]byte(text))
	})
	m, err := c.LastMove(t.Context(), repo, c.ItemID(repo, 1))
	require.NoError(t, err)
	require.Equal(t, []string{"ann", "Approved"}, []string{m.ActorID, m.To}, "the column is called as it is now")
}

// A label that was called something else when it was given is no proof of who has moved the issue.
func TestARenamedLabel(t *testing.T) {
	t.Parallel()
	c := says(t, onGitHub, time.Now(), func(w http.ResponseWriter, r *http.Request) {
		text := `{"number":1,"title":"t","labels":[{"id":1,"name":"status/Approved"}],"user":{"login":"ann"}}`
		if strings.HasSuffix(r.URL.Path, "/events") {
			text = `[{"event":"labeled","actor":{"login":"ann"},"label":{"name":"nice"},"created_at":"2031-01-01T00:00:00Z"}]`
		}
		_, _ = w.Write([]byte(text))
	})
	_, err := c.LastMove(t.Context(), repo, c.ItemID(repo, 1))
	require.ErrorIs(t, err, tracker.ErrNoLog)
}

// A host that serves no log has none, which is something else than one that cannot be read now.
func TestNoLog(t *testing.T) {
	inEach(t, func(t *testing.T, c *labelboard.Client, d *double) {
		id := d.onBoard("t", "d")
		d.move(t, id, stage.StatusApproved)
		d.fail(calls(d.kind)["LastMove"], faulttest.Passing)
		_, err := c.LastMove(t.Context(), repo, id)
		require.NotErrorIs(t, err, tracker.ErrNoLog)
		require.True(t, fault.Retryable(err), "it is waited for")
		listed := read(t, c.List, tracker.Query{ProjectID: repo}).Items
		require.Equal(t, stage.StatusApproved, listed[0].Status, "a listing does not wait")
		d.fail(calls(d.kind)["LastMove"], faulttest.Later)
		_, err = c.List(t.Context(), tracker.Query{ProjectID: repo})
		require.Positive(t, fault.After(err))
		d.fail(calls(d.kind)["LastMove"], faulttest.Final)
		_, err = c.LastMove(t.Context(), repo, id)
		require.Error(t, err)
		require.False(t, fault.Retryable(err))
	})
}

func TestRelationsThatAreNotServed(t *testing.T) {
	inEach(t, func(t *testing.T, c *labelboard.Client, d *double) {
		id := d.onBoard("t", "d")
		d.issues.SetRelated(false)
		_, err := c.BlockedBy(t.Context(), repo, id)
		require.ErrorIs(t, err, tracker.ErrNoRelations)
		_, err = c.BlockedBy(t.Context(), repo, c.ItemID(repo, 7))
		require.ErrorIs(t, err, tracker.ErrNotFound)
		require.NotErrorIs(t, err, tracker.ErrNoRelations)
	})
}

// A role is what an account may do in the repository; where that cannot be read, there is none.
func TestPerson(t *testing.T) {
	inEach(t, func(t *testing.T, c *labelboard.Client, d *double) {
		d.issues.AddPerson(forgetest.Person{Login: "Ann", Name: "Ann Other"})
		for _, role := range []string{"admin", "write", "read", "none"} {
			d.SetRole("Ann", role)
			p, err := c.Person(t.Context(), repo, "Ann")
			require.NoError(t, err)
			require.Equal(t, tracker.Person{ID: "Ann", Name: "Ann Other", Role: role}, p)
		}
		_, err := c.Person(t.Context(), repo, "")
		require.ErrorIs(t, err, tracker.ErrNotFound)
		const roles = "GET /repos/{owner}/{repo}/collaborators/{login}/permission"
		d.fail(roles, faulttest.Final)
		p, err := c.Person(t.Context(), repo, "Ann")
		require.NoError(t, err)
		require.Empty(t, p.Role)
		d.fail(roles, faulttest.Later)
		_, err = c.Person(t.Context(), repo, "Ann")
		require.Positive(t, fault.After(err))
	})
}
