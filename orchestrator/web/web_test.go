package web_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

const planeSecret, githubSecret, adminToken = "plane_wh_test", "gh-test", "operator-token"

// brokenStore is a store that can be switched to refuse deliveries.
type brokenStore struct {
	*memstore.Store
	mu    sync.Mutex
	fails int // how many more times; -1 = always

	reading func() // comes between the reads of a task's story
}

func (b *brokenStore) Receive(ctx context.Context, d task.Delivery, j queue.Job) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fails != 0 {
		b.fails--
		return false, errors.New("disk full")
	}
	return b.Store.Receive(ctx, d, j)
}

type kit struct {
	*testing.T
	store *brokenStore
	url   string
}

// setup serves a handler over a real socket. No engine works.
func setup(t *testing.T, change func(*web.Options), features ...orchestrator.Feature) *kit {
	t.Helper()
	h, store := handler(t, change, features...)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return &kit{T: t, store: store, url: srv.URL}
}

// begin puts a task at review.
func (k *kit) begin() task.Task {
	k.Helper()
	row := task.Task{ID: 1, Repo: "acme/app", TrackerProjectID: "p1", TrackerIssueID: "i1", WorkItemID: "APP-1", Branch: "b", State: stage.State{Stage: stage.Review}}
	k.keep(row)
	return row
}

// handler makes the handler of setup.
func handler(t *testing.T, change func(*web.Options), features ...orchestrator.Feature) (http.Handler, *brokenStore) {
	t.Helper()
	store := &brokenStore{Store: memstore.New(nil)}
	projects, err := task.NewProjects(task.Project{TrackerProject: projectID, Repo: "acme/app", CloneURL: "u", Prefix: "APP"})
	require.NoError(t, err)
	board, host, place := memtracker.New(nil), memhost.New(), memwork.New(func(context.Context, work.Command, map[string]string) work.Result { return work.Result{} })
	engine, err := orchestrator.New(stage.Default(), orchestrator.Deps{
		Store: store, Records: store, Jobs: store, Projects: projects, Tracker: board, Host: host, Workspaces: place, Agents: place, Gates: checks.All(nil),
		Runners: effects.Runners(effects.Deps{Store: store, Jobs: store, Projects: projects, Tracker: board, Host: host, Workspaces: place}),
	}, orchestrator.Options{}, features...)
	require.NoError(t, err)
	o := web.Options{
		Engine: engine, Sources: sources(t, signature.Of(planeSecret), signature.Of(githubSecret)), Access: access.New(access.Options{AdminToken: adminToken, PublicRead: true}),
		Hold:    300 * time.Millisecond,
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "signalbox_up 1") }),
	}
	if change != nil {
		change(&o)
	}
	h, err := web.Handler(o)
	require.NoError(t, err)
	return h, store
}

// sources are a Plane and a GitHub with secrets.
func sources(t testing.TB, board, host signature.Secrets) []web.Source {
	t.Helper()
	p, err := plane.New(plane.Options{BaseURL: "http://plane.example.org", Workspace: "w", Token: "t", Secrets: board})
	require.NoError(t, err)
	g, err := github.New(github.Options{Token: "t", Secrets: host})
	require.NoError(t, err)
	return []web.Source{{Name: "plane", Tracker: p}, {Name: "github", Host: g}}
}

// keep puts a task into the store.
func (k *kit) keep(row task.Task) {
	k.Helper()
	require.NoError(k, k.store.Commit(k.Context(), task.Commit{Task: &row}))
}

func sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// answer holds what came back.
type answer struct {
	status int
	header http.Header
	body   string
	asked  string
}

// do sends a request, without following where its answer leads.
func (k *kit) do(method, path string, header map[string]string, body string) answer {
	k.Helper()
	req, err := http.NewRequestWithContext(k.Context(), method, k.url+path, strings.NewReader(body))
	require.NoError(k, err)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(k, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(k, err)
	return answer{resp.StatusCode, resp.Header, string(text), fmt.Sprintf("%s %s %.60q", method, path, body)}
}

func (k *kit) get(path string) answer { return k.do(http.MethodGet, path, nil, "") }

// is requires the status of an answer.
func (k *kit) is(want int, a answer) {
	k.Helper()
	require.Equal(k, want, a.status, "%s: %s", a.asked, a.body)
}

// says requires an answer to be a document, has one to have a text.
func (k *kit) says(want int, document string, a answer) {
	k.Helper()
	k.is(want, a)
	require.JSONEq(k, document, a.body)
}

func (k *kit) has(want int, text string, a answer) {
	k.Helper()
	k.is(want, a)
	require.Contains(k, a.body, text)
}

// order posts a request of the operator's.
func (k *kit) order(path, body string) answer { return k.do(http.MethodPost, path, operator, body) }

// plane posts a webhook of Plane, signed.
func (k *kit) plane(id string, payload any) answer { return k.planeBy(planeSecret, id, payload) }

func (k *kit) planeBy(secret, id string, payload any) answer {
	k.Helper()
	body, ok := payload.([]byte)
	if !ok {
		body = planetest.Encode(payload)
	}
	return k.do(http.MethodPost, "/webhooks/tracker", map[string]string{
		"Content-Type": "application/json", "X-Plane-Delivery": id, "X-Plane-Event": "issue", "X-Plane-Signature": sign(secret, body),
	}, string(body))
}

func (k *kit) github(id, event string, body []byte) answer {
	return k.githubBy(githubSecret, id, event, body)
}

func (k *kit) githubBy(secret, id, event string, body []byte) answer {
	k.Helper()
	return k.do(http.MethodPost, "/webhooks/githost", map[string]string{
		"Content-Type": "application/json; charset=utf-8", "X-GitHub-Delivery": id, "X-GitHub-Event": event, "X-Hub-Signature-256": "sha256=" + sign(secret, body),
	}, string(body))
}

func issue(field string, data map[string]any) map[string]any {
	return map[string]any{"event": "issue", "action": "updated", "data": data, "activity": map[string]any{"field": field, "actor": map[string]any{"id": "kim"}}}
}

// moved is a card of the project.
func moved(card string) map[string]any {
	return map[string]any{"id": itemID(card), "project": projectID}
}

func (k *kit) jobs() []queue.Job {
	k.Helper()
	jobs, err := k.store.Jobs(k.Context(), queue.Filter{})
	require.NoError(k, err)
	return jobs
}

func TestWebhookIsStoredOnce(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	hook := issue("state_id", moved("1"))
	k.says(http.StatusAccepted, `{"status":"queued"}`, k.plane("d1", hook))
	for _, id := range []string{"d1", "d2", ""} { // Plane makes a new id for each attempt
		k.says(http.StatusOK, `{"status":"duplicate"}`, k.plane(id, hook))
	}
	require.Len(t, k.jobs(), 1)
	require.Contains(t, orchestrator.BoardKeys(itemID("1")), k.jobs()[0].Key)
}

// What nobody waits for is answered and not kept. Features receive the hook of a card that was
// edited: its relations may be others.
func TestIgnored(t *testing.T) {
	t.Parallel()
	heard := make(chan string, 9)
	k := setup(t, nil, orchestrator.Feature{Name: "ear", On: func(_ context.Context, m any) error {
		if h, ok := m.(tracker.Hook); ok {
			heard <- h.ItemID
		}
		return nil
	}})
	for why, hook := range map[string]map[string]any{
		"the status has not changed":    issue("name", moved("0")),
		"the project is not registered": issue("state", map[string]any{"id": itemID("0"), "project": itemID("9")}),
		"the event is of no interest":   {"event": "cycle", "action": "created", "data": map[string]any{"id": "c"}},
		"comments are only noted":       {"event": "issue_comment", "action": "created", "data": map[string]any{"id": "c", "issue": itemID("0"), "project": projectID}},
	} {
		a := k.plane("d-"+why, hook)
		require.Equal(t, http.StatusOK, a.status, why)
		var said struct{ Status, Reason string }
		require.NoError(t, json.Unmarshal([]byte(a.body), &said))
		require.Equal(t, []string{"ignored", why}, []string{said.Status, said.Reason})
	}
	require.Len(t, heard, 1)
	require.Equal(t, itemID("0"), <-heard)
	for event, body := range map[string]string{
		"ping": `{"zen":"x"}`, "unheard_of": `{}`, "push": `{"ref":"refs/heads/x","after":"` + strings.Repeat("a", 40) + `","repository":{"full_name":"acme/app"}}`,
		"status": `{"state":"success","sha":"` + strings.Repeat("a", 40) + `","repository":{"full_name":"acme/other"}}`,
	} {
		k.has(http.StatusOK, "ignored", k.github("d-"+event, event, []byte(body)))
	}
	require.Empty(t, k.jobs())
}

// Bad input gets the answer that names what is wrong; nothing is kept.
func TestBadInput(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	good := planetest.Encode(issue("state", moved("1")))
	with := func(name, value string) map[string]string {
		h := map[string]string{"Content-Type": "application/json", "X-Plane-Delivery": "d", "X-Plane-Event": "issue", "X-Plane-Signature": sign(planeSecret, good)}
		if name != "" {
			h[name] = value
		}
		return h
	}
	type input struct {
		want   int
		body   []byte
		header map[string]string
	}
	cases := map[string]input{
		"unsigned":         {http.StatusUnauthorized, good, with("", "")},
		"wrongly signed":   {http.StatusUnauthorized, good, with("X-Plane-Signature", sign("other", good))},
		"signature of hex": {http.StatusUnauthorized, good, with("X-Plane-Signature", "zz")},
		"another body":     {http.StatusUnauthorized, append(good, ' '), with("", "")},
		"form":             {http.StatusUnsupportedMediaType, good, with("Content-Type", "application/x-www-form-urlencoded")},
		"no content type":  {http.StatusUnsupportedMediaType, good, with("Content-Type", "")},
		"gzip":             {http.StatusUnsupportedMediaType, good, with("Content-Encoding", "gzip")},
		"oversized":        {http.StatusRequestEntityTooLarge, bytes.Repeat([]byte(" "), 1<<20+1), with("", "")},
	}
	delete(cases["unsigned"].header, "X-Plane-Signature")
	for name, body := range map[string]string{
		"truncated payload": string(good[:len(good)/2]), "not JSON": "state=done", "empty": "", "a JSON word": `"hello"`,
		"an issue without an id": `{"event":"issue","action":"updated","data":{"project":"` + projectID + `"}}`, "an issue without a project": `{"event":"issue","action":"updated","data":{"id":"i"}}`,
	} {
		cases[name] = input{http.StatusBadRequest, []byte(body), with("X-Plane-Signature", sign(planeSecret, []byte(body)))}
	}
	for name, c := range cases {
		a := k.do(http.MethodPost, "/webhooks/tracker", c.header, string(c.body))
		require.Equal(t, c.want, a.status, name)
		require.Equal(t, "application/problem+json", a.header.Get("Content-Type"), name)
		require.NotContains(t, a.body, "state=done", "what was sent is not repeated")
	}
	body := []byte(`{"state":"success"}`)
	k.is(http.StatusBadRequest, k.github("d", "status", body))
	a := k.do(http.MethodPost, "/webhooks/githost", map[string]string{"Content-Type": "application/json", "X-GitHub-Event": "ping", "X-Hub-Signature": "sha1=abc"}, string(body))
	require.Equal(t, http.StatusUnauthorized, a.status, "SHA-1 does not count")
	require.Empty(t, k.jobs())
}

// Hostile texts are texts, and no ids.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	for n, text := range []string{
		"--upload-pack=touch /tmp/x", "../../etc/passwd", "line\nfeed", "\u202egnp.exe", "🚦🧨", strings.Repeat("长", 10_000), "<script>alert(1)</script>", "'; drop table tasks; --", "\x00nul",
	} {
		body := map[string]any{"id": itemID("1"), "project": projectID, "name": text, "description_html": text}
		k.is(http.StatusAccepted, k.plane(fmt.Sprint(n), issue("state", body)))
		body["id"] = text
		k.is(http.StatusBadRequest, k.plane("id "+fmt.Sprint(n), issue("state", body)))
		k.is(http.StatusOK, k.get("/queue"))
	}
	require.Len(t, k.jobs(), 9)
}

// While the store cannot take a delivery the request is held; then Plane's connection is broken, and GitHub gets an error.
func TestStoreOutage(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	k.store.fails = 2
	a := k.plane("d1", issue("state", moved("1")))
	require.Equal(t, http.StatusAccepted, a.status, "held until the store was back")
	k.store.mu.Lock()
	k.store.fails = -1
	k.store.mu.Unlock()
	require.Error(t, k.broken("2"), "the connection is broken")
	a = k.github("g1", "status", []byte(`{"state":"success","sha":"`+strings.Repeat("a", 40)+`","repository":{"full_name":"acme/app"}}`))
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.NotEmpty(t, a.header.Get("Retry-After"))
	require.Len(t, k.jobs(), 1)
}

func TestOperator(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	row := k.begin()
	k.is(http.StatusAccepted, k.order("/tasks/1/retry", ""))
	require.Len(t, k.jobs(), 1)
	k.is(http.StatusAccepted, k.order("/tasks/1/retry", "")) // asked twice, done once
	require.Len(t, k.jobs(), 1)
	k.is(http.StatusNotFound, k.order("/tasks/2/retry", ""))
	k.has(http.StatusNotFound, "ORCH_STOP_STATUS_ENABLED", k.order("/tasks/1/stop", ""))
	k.is(http.StatusUnauthorized, k.do(http.MethodPost, "/tasks/1/retry", map[string]string{"Authorization": "Bearer wrong"}, ""))
	k.is(http.StatusUnauthorized, k.do(http.MethodPost, "/tasks/1/retry", map[string]string{"Authorization": adminToken}, ""))
	k.is(http.StatusForbidden, k.do(http.MethodPost, "/tasks/1/retry", map[string]string{"Authorization": "Bearer " + adminToken, "Sec-Fetch-Site": "cross-site"}, ""))

	a := k.get("/tasks/1")
	require.Equal(t, http.StatusOK, a.status)
	var d web.TaskDetail
	require.NoError(t, json.Unmarshal([]byte(a.body), &d))
	require.Equal(t, "APP-1", d.WorkItemID)
	require.Len(t, d.Jobs, 1)

	told := work.Usage{Input: 90, MicroUSD: 400_000}
	for i, usage := range []work.Usage{{Input: 100, MicroUSD: 500_000}, told} {
		row.Version = int64(i) + 1
		run := task.AgentRun{TaskID: 1, JobID: int64(i), Attempt: 1, Usage: usage, Measured: &work.Measured{Told: told, Estimated: i == 0}}
		require.NoError(t, k.store.Commit(t.Context(), task.Commit{Task: &row, Runs: []task.AgentRun{run}}))
	}
	require.NoError(t, json.Unmarshal([]byte(k.get("/tasks/1").body), &d))
	require.True(t, d.Runs[0].Measured && d.Runs[0].Estimated)
	require.InDelta(t, 0.4, d.Runs[0].Told.CostUSD, 1e-9, "it differs")
	require.Nil(t, d.Runs[1].Told)
	require.InDelta(t, 0.9, d.Totals.CostUSD, 1e-9)

	locked := setup(t, func(o *web.Options) { o.Access = access.New(access.Options{PublicRead: true}) })
	k.has(http.StatusUnauthorized, "signalbox token add", locked.do(http.MethodPost, "/tasks/1/retry", map[string]string{"Authorization": "Bearer "}, ""))
}
