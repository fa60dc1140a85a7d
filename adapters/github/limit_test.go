package github_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
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

// read is a host whose CI is GitHub's.
type read struct {
	orchestrator.Hosting
	github *github.Client
}

func (h read) Checks(ctx context.Context, repo, base, sha string) ([]githost.Check, error) {
	return h.github.Checks(ctx, repo, base, sha)
}

func (h read) BranchesAt(ctx context.Context, repo, sha string) ([]string, error) {
	return h.github.BranchesAt(ctx, repo, sha)
}

// A card that waits for CI costs an hour at most 20 requests that GitHub counts, and while webhooks come less than half
// of the looks, the most of them the reconciler's; when CI has ended, and its webhook is lost, the card goes on within the longer pause.
func TestWaitingForCIKeepsTheLimit(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "app.git")
	gittest.Run(t, t.TempDir(), "init", "--quiet", "--bare", "--initial-branch=main", bare)
	looks := map[bool]int{}
	for _, heard := range []bool{false, true} {
		var double *forgetest.Server
		orchestratortest.Run(t, func(r *orchestratortest.Rig) {
			double = forgetest.NewGitHub(forgetest.Options{Token: token, Poll: 1000 * time.Hour})
			r.Cleanup(double.Close)
			require.NoError(r, double.AddRepo(orchestratortest.AppRepo, bare))
			client := client(r, github.Options{BaseURL: "http://github", Token: token, HTTPClient: &http.Client{Transport: wire{double}}})
			r.SetCI("")
			r.Place.OnPush = func(repo, branch, sha string) {
				r.Pushed(repo, branch, sha)
				double.SetCheckRun(repo, sha, "build", "in_progress", "")
			}
			r.Deps = func(d *orchestrator.Deps) { d.Host = read{r.Host, client} }
			r.Features = func() []orchestrator.Feature {
				f, err := reconcile.New(reconcile.Options{})
				require.NoError(r, err)
				return []orchestrator.Feature{f.Feature()}
			}
		}, func(r *orchestratortest.Rig) {
			item := r.Card(orchestratortest.App, "Cache the tiles")
			r.ToDone(orchestratortest.App, item)
			waits := r.Task(item)
			require.Equal(r, stage.Development, waits.State.Stage)
			before := double.Counted()
			for i := range 12 {
				if heard {
					_, err := r.Store.Receive(r.Context(), task.Delivery{Source: task.HostGitHub, ID: fmt.Sprint(i), BodyHash: fmt.Sprint(i), ReceivedAt: time.Now()}, queue.Job{Pool: "nobody"})
					require.NoError(r, err)
				}
				r.Settle(5 * time.Minute)
			}
			require.LessOrEqual(r, double.Counted()-before, 20)
			looks[heard] = double.Requests()["GET /repos/{owner}/{repo}/commits/{sha}/check-suites"]
			double.SetCheckRun(waits.Repo, waits.State.Head, "build", "completed", "success")
			r.Settle(6 * time.Minute)
			require.NotEqual(r, stage.Development, r.Task(item).State.Stage)
		})
	}
	require.Less(t, 2*looks[true], looks[false])
}
