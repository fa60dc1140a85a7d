package plane_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/trackertest"
)

// site is a Plane that runs somewhere, and an empty project on it. One account is service and person.
type site struct {
	url, token, workspace, project string
	send                           inProcess
}

// realPlane returns the Plane that the environment names.
func realPlane(t *testing.T) site {
	t.Helper()
	p := site{os.Getenv("PLANE_URL"), os.Getenv("PLANE_TOKEN"), os.Getenv("PLANE_WORKSPACE"), os.Getenv("PLANE_PROJECT"), http.DefaultTransport.RoundTrip}
	if p.url == "" || p.token == "" || p.workspace == "" || p.project == "" {
		t.Skip("PLANE_URL, PLANE_TOKEN, PLANE_WORKSPACE and PLANE_PROJECT name a Plane (docs/embedding.md)")
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections) // else they count as leaked
	return p
}

// patient waits where Plane says so: the suite makes more requests than a token has in a minute.
func patient(send inProcess) inProcess {
	return func(r *http.Request) (*http.Response, error) {
		var body []byte
		if r.Body != nil {
			var err error
			if body, err = io.ReadAll(r.Body); err != nil {
				return nil, err
			}
		}
		for {
			next := r.Clone(r.Context())
			next.Body = io.NopCloser(bytes.NewReader(body))
			resp, err := send(next)
			if err != nil {
				return nil, err
			}
			if resp.StatusCode != http.StatusTooManyRequests {
				resp.Header.Del("X-RateLimit-Remaining") // no budget stops the suite
				return resp, nil
			}
			wait, _ := fault.Moment(resp.Header.Get("Retry-After"), time.Now())
			_ = resp.Body.Close()
			select {
			case <-time.After(max(wait, time.Second)):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
	}
}

// request calls the API as a person's own program would.
func (p site) request(t *testing.T, method, path string, in, out any) {
	t.Helper()
	raw, err := json.Marshal(in)
	require.NoError(t, err)
	address := strings.TrimSuffix(p.url, "/") + "/api/v1/workspaces/" + p.workspace + "/projects/" + p.project + "/" + path
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, address, bytes.NewReader(raw))
	require.NoError(t, err)
	req.Header.Set("X-Api-Key", p.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := patient(p.send)(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, 2, resp.StatusCode/100, "%s %s: %s", method, path, resp.Status)
	if out != nil {
		require.NoError(t, json.NewDecoder(resp.Body).Decode(out))
	}
}

// client makes one whose comments have a mark of their own: Plane keeps keys for ever.
func (p site) client(t *testing.T) *plane.Client {
	t.Helper()
	c, err := plane.New(plane.Options{
		BaseURL: p.url, Workspace: p.workspace, Token: p.token, Insecure: true, Source: fmt.Sprint("signalbox-test-", time.Now().UnixNano()),
		HTTPClient: &http.Client{Timeout: 3 * time.Minute, Transport: patient(p.send)},
	})
	require.NoError(t, err)
	identify(t, c)
	return c
}

// The suite of the port, against a Plane that the environment names.
func TestRealPlane(t *testing.T) { realPlane(t).suite(t) }

// The suite as it is for a real one, against the double.
func TestRealPlaneByTheDouble(t *testing.T) {
	t.Parallel()
	var moved atomic.Int64
	double := &rig{plane: planetest.New(planetest.Options{Tokens: map[string]string{botToken: bot}, RateLimit: planetest.Unlimited, Now: func() time.Time {
		return time.Now().Add(time.Duration(moved.Add(1)) * time.Second)
	}})}
	defer double.plane.Close()
	double.plane.AddMember(planetest.Member{ID: bot, Name: "Bot", Email: "bot@example.org", Role: planetest.Admin})
	project := double.plane.AddProject("REAL", "Backlog", "Todo", "In Progress", "Done", "Cancelled")
	site{"http://plane.example.org", botToken, "acme", project, double.call}.suite(t)
	for _, i := range double.plane.Items(project) {
		require.Equal(t, planetest.Deleted, i.Gone, "it leaves nothing")
	}
}

func (p site) suite(t *testing.T) {
	t.Helper()
	c := p.client(t)
	for _, s := range stage.Statuses() {
		require.NoError(t, c.AddColumn(t.Context(), p.project, s.Key))
	}
	account, may, err := c.Account(t.Context(), p.project)
	require.NoError(t, err)
	require.True(t, may, "the token may change cards")
	me, err := c.Person(t.Context(), p.project, account)
	require.NoError(t, err, "the token's account is a member of the workspace")
	trackertest.Run(t, func(t *testing.T) trackertest.Fixture { return p.fixture(t, me) })
}

// fixture is the project as a board of its own, which a test leaves empty.
func (p site) fixture(t *testing.T, me tracker.Person) trackertest.Fixture {
	t.Helper()
	if strings.Contains(t.Name(), "at_the_same_time") {
		t.Skip("Plane looks for a key and inserts then: two at the same moment are both posted")
	}
	c, taken := p.client(t), false
	state := func(to stage.Status) string {
		var list struct {
			Results []struct{ ID, Name string }
		}
		p.request(t, http.MethodGet, "states/", nil, &list)
		info, _ := stage.StatusNamed(to)
		for _, s := range list.Results {
			if strings.EqualFold(s.Name, info.Name) {
				return s.ID
			}
		}
		require.Fail(t, "there is no such column", info.Name)
		return ""
	}
	return trackertest.Fixture{
		Tracker: c,
		NewProject: func(columns ...stage.Status) string {
			if taken || len(columns) != len(stage.Statuses()) {
				t.Skip("it needs another project")
			}
			taken = true
			return p.project
		},
		NewItem: func(_, title, description string) string {
			var made struct{ ID string }
			p.request(t, http.MethodPost, "work-items/", map[string]string{"name": title, "description_html": plane.EscapeHTML(description)}, &made)
			t.Cleanup(func() { p.request(t, http.MethodDelete, "work-items/"+made.ID+"/", nil, nil) })
			return made.ID
		},
		Move: func(item string, to stage.Status) {
			p.request(t, http.MethodPatch, "work-items/"+item+"/", map[string]string{"state": state(to)}, nil)
		},
		Say: func(item, text string) {
			p.request(t, http.MethodPost, "work-items/"+item+"/comments/", map[string]string{"comment_html": "<p>" + text + "</p>"}, nil)
		},
		Person: me, TitleMax: planetest.TitleMax,
		Fail: func(string, faulttest.Kind) { t.Skip("it does not fail on demand") },
	}
}

// The helpers of the suite are tried against the double.
func TestRealPlaneIsPatient(t *testing.T) {
	limited(t, 3, func(s *shop) {
		p := &rig{plane: s.server}
		began := time.Now()
		for range 4 {
			r, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "http://plane.example.org/api/v1/users/me/", nil)
			require.NoError(t, err)
			r.Header.Set("X-Api-Key", botToken)
			resp, err := patient(p.call)(r)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, resp.StatusCode)
			require.NoError(t, resp.Body.Close())
		}
		require.Equal(t, time.Minute, time.Since(began))
	})
}
