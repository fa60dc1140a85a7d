package web_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/apidoc"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/agentpause"
	"github.com/signalbox-dev/signalbox/orchestrator/features/budget"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/monitor"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/remotes"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/features/wip"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/receipt"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// described is the document, and its operations by method and path.
func described(t *testing.T) (apidoc.Document, map[string]apidoc.Document) {
	t.Helper()
	body, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	root, err := apidoc.Read(body)
	require.NoError(t, err)
	return root, root.Operations()
}

// Every route is described with the right that it needs, and nothing else is.
func TestRoutesAreDescribed(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	_, operations := described(t)
	ids, seen := map[any]string{}, map[string]bool{}
	for _, r := range d.api {
		if r.Pattern == "/{$}" || strings.HasPrefix(r.Pattern, "/dashboard") {
			continue // pages
		}
		name := r.Method + " " + r.Pattern
		if strings.HasPrefix(r.Pattern, "/webhooks/") {
			name = r.Method + " /webhooks/{source}"
		}
		op := operations[name]
		require.NotNil(t, op, "%s is not described", name)
		require.Equal(t, []any{string(r.Needs), string(r.Of)}, []any{op["x-role"], op["x-of"]}, name)
		require.NotEmpty(t, op["summary"], name)
		seen[name] = true
	}
	for name, op := range operations {
		require.True(t, seen[name], "%s is described, and no route", name)
		require.Empty(t, ids[op["operationId"]], name)
		ids[op["operationId"]] = name
	}
}

// The types of problems are those of the code.
func TestProblemsAreDescribed(t *testing.T) {
	t.Parallel()
	root, _ := described(t)
	var code []string
	for _, pattern := range []string{"*.go", "access/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, name := range files {
			body, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, kind := range regexp.MustCompile(`(?:problem\(w, [^,]+, |refusal\([^,]+, |Refusal\{[^}]*Kind: )"([a-z-]+)"`).FindAllStringSubmatch(string(body), -1) {
				if kind[1] != "provider" { // of signing in, which is no part of the API
					code = append(code, "urn:signalbox:problem:"+kind[1])
				}
			}
		}
	}
	slices.Sort(code)
	var listed []string
	for _, kind := range root.At(root, "components", "schemas", "Problem", "properties", "type")["enum"].([]any) {
		listed = append(listed, kind.(string))
	}
	require.Equal(t, slices.Compact(code), listed)
	words := func(name string) (out []string) {
		for _, word := range root.At(root, "components", "schemas", name)["examples"].([]any) {
			out = append(out, word.(string))
		}
		return out
	}
	for i, s := range stage.Stages() {
		require.Equal(t, string(s), words("Stage")[i])
	}
	for i, r := range stage.Roles() {
		require.Equal(t, string(r), words("Role")[i])
	}
}

// world is a service with something in everything that it shows: a card that waits for an approval, one
// that waits for Confirm Deploy, one that waits for a place, and an effect that was given up.
type world struct {
	*Rig
	root       apidoc.Document
	operations map[string]apidoc.Document
	handler    http.Handler
	freeze     func(ctx context.Context, repo string, taskID int64, reason string) error
	failed     int64
	comment    string
	file       string
}

func describedWorld(t *testing.T, test func(*world)) {
	t.Helper()
	w := &world{}
	w.root, w.operations = described(t)
	o := web.Options{Stop: true, Access: access.New(access.Options{AdminToken: adminToken}), Metrics: http.NotFoundHandler()}
	Run(t, func(r *Rig) {
		w.Rig = r
		r.Projects[0].WIP, r.Projects[1].WIP = 1, 1
		r.Features = func() []orchestrator.Feature { return w.features(&o) }
	}, func(r *Rig) {
		first, second := r.Card(App, "x"), r.Card(Self, "y")
		r.Set(first, stage.StatusToAnalyse)
		r.Settle(10 * time.Second)
		r.ToDone(Self, second)
		r.Waits(first, stage.HoldApproval)
		r.Waits(second, stage.HoldConfirm)
		require.NoError(r, w.freeze(context.Background(), "acme/self", 1, "a deployment is degraded"))
		r.Place.SetScript(Hang)
		r.Begin("z")
		r.Begin("z")
		r.Settle(time.Minute)
		r.Shutdown() // what is done from here on is queued
		row, project := r.Task(first), r.Projects[0]
		require.NoError(r, r.Store.Commit(context.Background(), task.Commit{Jobs: []queue.Job{orchestrator.EffectJob(row, project, stage.Effect{Kind: stage.EffectComment, Text: "lost"}, "lost")}}))
		jobs, err := r.Store.Take(context.Background(), orchestrator.LaneComments.Pool(), "w", 1, time.Minute)
		require.NoError(r, err)
		require.NoError(r, r.Store.Finish(context.Background(), jobs[0], queue.Outcome{Kind: queue.OutcomeDead, Error: "it is refused"}))
		w.failed = jobs[0].Job.ID
		logs := new(memwork.Logs)
		logs.Step(work.LogName{TaskID: 1, Role: stage.Analyst, Run: 1, Attempt: 1, Stream: work.StreamSteps}, work.Step{At: time.Now(), Kind: work.StepUsage, Usage: &work.Usage{Model: "m"}})
		stopped, stop := context.WithCancel(context.Background())
		stop()
		o.Engine, o.History, o.Logs, o.Done, o.Sources = r.Engine, r.Store, logs, stopped.Done(), sources(r, signature.Of(planeSecret), nil)[:1]
		o.Reload = func(context.Context) (web.Reloaded, error) {
			return web.Reloaded{Added: []string{}, Removed: []string{}}, nil
		}
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/plain") })
		o.Receipt = func(_ context.Context, t task.Task) (receipt.Issued, error) {
			return receipt.Issued{Commits: []string{"c"}}, map[int64]error{2: receipt.ErrLive}[t.ID]
		}
		o.Desk = deskWithACard(r)
		list, err := o.Desk.Cards.Cards(r.Context(), cards.Filter{})
		require.NoError(r, err)
		story, err := o.Desk.Cards.Story(r.Context(), list[0].ID)
		require.NoError(r, err)
		w.comment = story.Comments[0].ID
		f, err := o.Desk.Cards.Attach(r.Context(), cards.Attachment{ID: list[0].ID, Name: "a.txt", Body: []byte("a"), By: cards.Person{Name: "admin"}})
		require.NoError(r, err)
		w.file = f.ID
		w.handler, err = web.Handler(o)
		require.NoError(r, err)
		test(w)
	})
}

// features are those with a block in the queue; what operators do with them is an option of the handler.
func (w *world) features(o *web.Options) (list []orchestrator.Feature) {
	w.Helper()
	projects, err := task.NewProjects(w.Projects...)
	require.NoError(w, err)
	w.Registry = projects
	add := func(f orchestrator.Feature, err error) {
		w.Helper()
		require.NoError(w, err)
		list = append(list, f)
	}
	add(stop.Feature(w.Parts()))
	add(monitor.Feature(monitor.Options{Parts: w.Parts()}))
	add(remotes.Feature(remotes.Options{Parts: w.Parts()}))
	gate, err := serialgate.New(serialgate.Options{Parts: w.Parts(), Repos: []string{"acme/self"}})
	require.NoError(w, err)
	add(gate.Feature(), nil)
	w.freeze = gate.Freeze
	limit, err := wip.New(wip.Options{Parts: w.Parts(), Except: gate.Covers})
	require.NoError(w, err)
	add(limit.Feature(), nil)
	wait, err := deps.New(deps.Options{Parts: w.Parts(), Line: serialgate.Name})
	require.NoError(w, err)
	add(wait.Feature(), nil)
	pauses, err := agentpause.New(w.Parts())
	require.NoError(w, err)
	add(pauses.Feature(), nil)
	merge, err := mergegate.New(mergegate.Options{Parts: w.Parts(), Leases: memlease.New(nil), Merge: orchestrator.RunnerFunc(nil)})
	require.NoError(w, err)
	add(merge.Feature(), nil)
	rec, err := reconcile.New(reconcile.Options{Tracker: w.Board, Board: w.Board, Brake: 5, Sources: []string{"plane"}})
	require.NoError(w, err)
	add(rec.Feature(), nil)
	spend, err := budget.New(budget.Options{Parts: w.Parts(), Caps: budget.Caps{RepoDay: 5e7}})
	require.NoError(w, err)
	add(spend.Feature(), nil)
	o.Unfreeze, o.Resume, o.Deps = gate.Unfreeze, pauses.Resume, wait
	return list
}

// send sends the example of an operation, with other values of parameters where there are some.
func (w *world) send(name string, values map[string]string, body, token string) *httptest.ResponseRecorder {
	w.Helper()
	op := w.operations[strings.Replace(name, "HEAD ", "GET ", 1)]
	method, path, _ := strings.Cut(name, " ")
	query, header := url.Values{}, http.Header{"Content-Type": {"application/json"}}
	list, _ := op["parameters"].([]any)
	for _, one := range list {
		p := w.root.Resolve(one.(map[string]any))
		n, is := values[p["name"].(string)]
		if !is {
			require.Empty(w, w.root.Violations(p["schema"].(map[string]any), p["example"], name+" "+p["name"].(string)))
			n = fmt.Sprint(p["example"])
		}
		switch p["in"] {
		case "path":
			path = strings.ReplaceAll(path, "{"+p["name"].(string)+"}", url.PathEscape(n))
		case "query":
			query.Set(p["name"].(string), n)
		case "header":
			header.Set(p["name"].(string), n)
		}
	}
	if content := op.At(w.root, "requestBody", "content", "application/json"); content != nil && body == "" {
		require.Empty(w, w.root.Violations(content.At(w.root, "schema"), content["example"], name))
		text, err := json.Marshal(content["example"])
		require.NoError(w, err)
		body = string(text)
	}
	r := httptest.NewRequest(method, path+"?"+query.Encode(), strings.NewReader(body))
	r.Header = header
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Header.Set("X-Plane-Signature", sign(planeSecret, []byte(body)))
	r.Header.Set("X-Plane-Event", "issue")
	r.Header.Set("X-Plane-Delivery", "d1")
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	return rec
}

// refuses requires a request to be refused as described.
func (w *world) refuses(status int, name string, values map[string]string, body, token string) {
	w.Helper()
	rec := w.send(name, values, body, token)
	require.Equal(w, status, rec.Code, "%s: %s", name, rec.Body)
	w.fits(name, rec)
}

// fits checks an answer against what is described, its status first.
func (w *world) fits(name string, rec *httptest.ResponseRecorder) {
	w.Helper()
	what := fmt.Sprintf("%s: %d %s", name, rec.Code, rec.Body)
	response := w.operations[name].At(w.root, "responses", fmt.Sprint(rec.Code))
	require.NotNil(w, response, what)
	media := rec.Header().Get("Content-Type")
	content := response.At(w.root, "content", media)
	require.NotNil(w, content, "%s (%s)", what, media)
	if data, streams := content["x-data"].(map[string]any); streams {
		w.fitEvents(name, data, rec.Body.String())
		return
	}
	if !strings.Contains(media, "json") {
		return
	}
	v, err := apidoc.Decode(rec.Body.Bytes())
	require.NoError(w, err, what)
	require.Empty(w, w.root.Violations(content.At(w.root, "schema"), v, name), what)
	if kinds, problem := response["x-kinds"].([]any); problem {
		require.Contains(w, kinds, strings.TrimPrefix(v.(map[string]any)["type"].(string), "urn:signalbox:problem:"), what)
	}
}

// fitEvents checks server-sent events.
func (w *world) fitEvents(name string, data map[string]any, body string) {
	w.Helper()
	events := 0
	for one := range strings.SplitSeq(body, "\n\n") {
		fields := map[string]string{}
		for line := range strings.SplitSeq(one, "\n") {
			key, value, _ := strings.Cut(line, ": ")
			fields[key] = value
		}
		if fields["data"] == "" {
			continue
		}
		v, err := apidoc.Decode([]byte(fields["data"]))
		require.NoError(w, err)
		schema, known := data[cmp.Or(fields["event"], "message")].(map[string]any)
		require.True(w, known, "%s: the event %q is not described", name, fields["event"])
		require.Empty(w, w.root.Violations(schema, v, name))
		events++
	}
	require.Positive(w, events, name)
}

// Each example is sent, what reads before what changes, and each answer is as described.
func TestExamplesAndAnswers(t *testing.T) {
	t.Parallel()
	describedWorld(t, func(w *world) {
		names := slices.Sorted(maps.Keys(w.operations))
		slices.SortStableFunc(names, func(a, b string) int {
			return cmp.Compare(strings.Index("GPD", a[:1]), strings.Index("GPD", b[:1]))
		})
		special := map[string]map[string]string{"POST /tasks/{id}/confirm": {"id": "2"}, "POST /effects/{id}/again": {"id": fmt.Sprint(w.failed)}}
		special["PUT /cards/{card}/comments/{comment}"] = map[string]string{"comment": w.comment}
		special["DELETE /cards/{card}/comments/{comment}"] = special["PUT /cards/{card}/comments/{comment}"]
		special["DELETE /cards/{card}/files/{file}"] = map[string]string{"file": w.file}
		for _, name := range names {
			rec := w.send(name, special[name], "", adminToken)
			require.Equal(w, map[bool]int{false: 2, true: 4}[name == "POST /tasks/{id}/undo"], rec.Code/100, "%s: %s", name, rec.Body)
			w.fits(name, rec)
		}
		queue := w.send("GET /queue", nil, "", adminToken).Body.String()
		for _, part := range []string{`"wip": {`, `"places": 1`, `"kind": "hold"`, `"frozen": [`, `"repo_day_cap_micro_usd"`} {
			require.Contains(w, queue, part, "or less is shown than the test is to be about")
		}
	})
}

// What is refused is refused as described.
func TestRefusalsAreAsDescribed(t *testing.T) {
	t.Parallel()
	describedWorld(t, func(w *world) {
		for name, op := range w.operations {
			if op["x-role"] != string(access.Everybody) {
				w.refuses(http.StatusUnauthorized, name, nil, "", "")
			}
			if op.At(w.root, "requestBody") != nil {
				w.refuses(http.StatusBadRequest, name, nil, `{"`, adminToken)
			}
			if strings.Contains(name, "{id}") {
				for id, status := range map[string]int{"999": http.StatusNotFound, "x": http.StatusBadRequest} {
					w.refuses(status, name, map[string]string{"id": id}, "", adminToken)
				}
			}
		}
		for _, c := range []struct {
			name, parameter, value, body string
			status                       int
		}{
			{"GET /tasks", "limit", "0", "", http.StatusBadRequest},
			{"GET /explain", "stage", "moon", "", http.StatusBadRequest},
			{"GET /costs", "days", "0", "", http.StatusBadRequest},
			{"GET /tasks/{id}/runs/{run}/events", "run", "77", "", http.StatusNotFound},
			{"GET /tasks/{id}/runs/{run}/events", "follow", "perhaps", "", http.StatusBadRequest},
			{"GET /tasks/{id}/receipt", "id", "2", "", http.StatusConflict},
			{"POST /tasks/{id}/approve", "id", "2", "", http.StatusConflict},
			{"POST /tasks/{id}/approve", "", "", `{"why": "` + strings.Repeat("x", 10_001) + `"}`, http.StatusBadRequest},
			{"POST /tasks/{id}/approve", "", "", `{"commit": "an older one"}`, http.StatusConflict},
			{"POST /tasks/{id}/reject", "", "", `{"why": " "}`, http.StatusConflict},
			{"GET /tasks/{id}/documents", "commit", "none", "", http.StatusNotFound},
			{"GET /tasks/{id}/documents/{name}", "name", "../x", "", http.StatusNotFound},
			{"GET /tasks/{id}/diff", "commit", "none", "", http.StatusNotFound},
			{"POST /effects/{id}/again", "id", "1", "", http.StatusNotFound},
			{"POST /effects/hasten", "", "", `{"lane": "moon"}`, http.StatusNotFound},
			{"POST /serial-gate/unfreeze", "", "", `{"repo": "acme/none"}`, http.StatusNotFound},
			{"POST /pauses", "", "", `{"repo": "acme/none"}`, http.StatusNotFound},
		} {
			w.refuses(c.status, c.name, map[string]string{c.parameter: c.value}, c.body, adminToken)
		}
	})
}
