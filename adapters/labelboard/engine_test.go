package labelboard_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// wire carries requests to a handler without a network, which a bubble of virtual time must not have.
type wire struct{ to http.Handler }

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	w.to.ServeHTTP(rec, r)
	return rec.Result(), nil
}

// lived is an engine whose board are the issues of a host.
type lived struct {
	*orchestratortest.Rig
	board  *labelboard.Client
	kind   forge
	issues *forgetest.Issues
}

// live runs an engine on a board of labels, with the reconciler.
func live(t *testing.T, kind forge, people task.People, test func(lived)) {
	t.Helper()
	l := lived{kind: kind}
	orchestratortest.Run(t, func(r *orchestratortest.Rig) {
		begin := forgetest.NewGitHub
		if kind == onGitea {
			begin = forgetest.NewGitea
		}
		double := begin(forgetest.Options{Token: token, Poll: 1000 * time.Hour})
		r.Cleanup(double.Close)
		l.issues = double.Issues()
		l.issues.AddLabel(orchestratortest.AppRepo, "bug")
		for _, s := range stage.Statuses() {
			l.issues.AddLabel(orchestratortest.AppRepo, "status/"+s.Name)
		}
		var err error
		l.board, err = labelboard.New(labelboard.Options{Secrets: signature.Of(secret), Issues: issues(r, kind, "http://host", token, wire{double}, nil)})
		require.NoError(r, err)
		require.NoError(r, l.board.Identify(r.Context()))
		r.Tracker, r.Projects = l.board, []task.Project{{
			TrackerProject: orchestratortest.AppRepo, Repo: orchestratortest.AppRepo, CloneURL: "u", Prefix: "APP", Main: "main", WebURL: "https://git.example.org/acme/app", People: people,
		}}
		r.Features = func() []orchestrator.Feature {
			f, err := reconcile.New(reconcile.Options{Tracker: l.board, Board: l.board, Every: time.Minute})
			require.NoError(r, err)
			s, err := stop.Feature(r.Parts())
			require.NoError(r, err)
			return []orchestrator.Feature{f.Feature(), s}
		}
	}, func(r *orchestratortest.Rig) {
		l.Rig = r
		test(l)
	})
}

// open makes an issue of Kim's.
func (l lived) open() string {
	return l.board.ItemID(orchestratortest.AppRepo, int64(l.issues.Open(orchestratortest.AppRepo, kim, "Cache tiles", "They are slow.")))
}

// put has somebody give an issue the label of a column, and take the former one away.
func (l lived) put(who, id string, to stage.Status) (label string) {
	l.Helper()
	info, _ := stage.StatusNamed(to)
	_, n := split(l.T, id)
	for _, has := range l.issues.Issue(orchestratortest.AppRepo, n).Labels {
		if has.Name != "bug" {
			require.NoError(l, l.issues.Unlabel(orchestratortest.AppRepo, n, who, has.Name))
		}
	}
	label = "status/" + info.Name
	require.NoError(l, l.issues.Label(orchestratortest.AppRepo, n, who, label))
	return label
}

// hook has the webhook come of a label that somebody has given.
func (l lived) hook(who, id, label string) {
	l.Helper()
	l.hookLater(who, id, label, func() {})
}

// hookLater has the webhook come after something else has happened.
func (l lived) hookLater(who, id, label string, meanwhile func()) {
	l.Helper()
	_, n := split(l.T, id)
	i := l.issues.Issue(orchestratortest.AppRepo, n)
	var labels []map[string]any
	for _, has := range i.Labels {
		labels = append(labels, map[string]any{"id": has.ID, "name": has.Name})
	}
	payload := map[string]any{
		"issue": map[string]any{"number": n, "updated_at": i.Updated.UTC().Format(time.RFC3339), "labels": labels}, "repository": map[string]any{"full_name": "acme/app"}, "sender": map[string]any{"login": who},
		"action": "labeled", "label": map[string]any{"name": label},
	}
	event := "issues"
	if l.kind == onGitea {
		event, payload["action"] = "issue_label", "label_updated"
		delete(payload, "label")
	}
	body, err := json.Marshal(payload)
	require.NoError(l, err)
	h, err := l.board.Decode(event, body)
	require.NoError(l, err)
	meanwhile()
	l.Hook(h)
}

func (l lived) stands(id string, at stage.Status) tracker.Item {
	l.Helper()
	item, err := l.board.Item(l.Context(), orchestratortest.AppRepo, id)
	require.NoError(l, err)
	require.Equal(l, at, item.Status)
	return item
}

// A card goes through every stage on a board of labels, by webhooks or found by the reconciler.
func TestALife(t *testing.T) {
	for _, kind := range kinds() {
		for _, seen := range []bool{true, false} {
			t.Run(fmt.Sprint(kind, " ", seen), func(t *testing.T) {
				live(t, kind, task.People{Approvers: []string{kim}, Starters: []string{kim}}, func(l lived) {
					id := l.open()
					for _, s := range []stage.Status{stage.StatusToAnalyse, stage.StatusApproved} {
						label := l.put(kim, id, s)
						if seen {
							l.hook(kim, id, label)
						}
						l.Settle(20 * time.Minute)
						if s == stage.StatusToAnalyse {
							l.Waits(id, stage.HoldApproval)
							l.stands(id, stage.StatusInReview)
						}
					}
					l.Stands(id, stage.Done)
					require.True(l, l.stands(id, stage.StatusDone).Finished)
					said, err := l.board.Comments(l.Context(), orchestratortest.AppRepo, id)
					require.NoError(l, err)
					once := map[string]bool{}
					for _, s := range said {
						require.True(l, s.Own)
						require.False(l, once[s.Body], s.Body)
						once[s.Body] = true
					}
					require.Greater(l, len(said), 10)
				})
			})
		}
	}
}

// Nobody approves by a label of another kind, whoever gives it: the log proves who has set Approved.
func TestWhoApproves(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(string(kind), func(t *testing.T) {
			live(t, kind, task.People{Approvers: []string{kim}}, func(l lived) {
				id := l.open()
				l.hook("ann", id, l.put("ann", id, stage.StatusToAnalyse))
				l.Settle(10 * time.Second)
				l.stands(id, stage.StatusInReview)

				l.put("ann", id, stage.StatusApproved) // and the webhook is late
				_, n := split(l.T, id)
				require.NoError(l, l.issues.Label(orchestratortest.AppRepo, n, kim, "bug"))
				l.hook(kim, id, "bug")
				l.Settle(10 * time.Minute)
				l.Stands(id, stage.Analysis)
				l.stands(id, stage.StatusInReview)
				said, err := l.board.Comments(l.Context(), orchestratortest.AppRepo, id)
				require.NoError(l, err)
				require.Contains(l, said[len(said)-1].Body, "ann may not set Approved here")

				l.hook(kim, id, l.put(kim, id, stage.StatusApproved))
				l.Settle(10 * time.Minute)
				l.stands(id, stage.StatusDone)
				l.hook(kim, id, "bug")
				l.Settle(10 * time.Minute)
				l.stands(id, stage.StatusDone)
			})
		})
	}
}

// STOP counts although the service has put its own label in its place in the same moment.
func TestSTOPIsNotLost(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(string(kind), func(t *testing.T) {
			live(t, kind, task.People{}, func(l lived) {
				id := l.open()
				l.hook(kim, id, l.put(kim, id, stage.StatusToAnalyse))
				l.Settle(10 * time.Second)
				label := l.put(kim, id, stage.StatusStop)
				l.hookLater(kim, id, label, func() {
					require.NoError(l, l.board.SetStatus(l.Context(), orchestratortest.AppRepo, id, stage.StatusInReview))
				})
				l.Settle(10 * time.Minute)
				require.Equal(l, stage.Cancelled, l.Cancelled(id).State.Stage)
			})
		})
	}
}
