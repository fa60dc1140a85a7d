package web_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// place is one of two repositories, with one of everything in it.
type place struct {
	repo, project, card string
	task, effect, entry int64
}

// door is a whole service over HTTP with two repositories, and a token for each role in the first.
type door struct {
	*kit
	projects   *task.Projects
	guard      *access.Guard
	mine, none place
	api, pages []access.Route
	tokens     map[access.Role]string
}

func openDoor(t *testing.T) *door {
	t.Helper()
	d := &door{
		guard: access.New(access.Options{AdminToken: adminToken, Provider: nobody{}, Proxy: access.Proxy{User: "X-User", From: []limit.Trusted{{Prefix: netip.MustParsePrefix("192.0.2.0/24")}}}}), tokens: map[access.Role]string{},
	}
	for _, role := range access.Roles() {
		token, secret, err := access.NewToken("the-"+string(role), access.Grant{Role: role, Repos: []string{"acme/app"}}, time.Now(), time.Time{})
		require.NoError(t, err)
		_, err = d.guard.Store.AddToken(t.Context(), token)
		require.NoError(t, err)
		d.tokens[role] = secret
	}
	own, err := board.Open(t.Context(), board.Options{Path: filepath.Join(t.TempDir(), "board.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, own.Close()) })
	projects, err := task.NewProjects(task.Project{TrackerProject: "p1", Repo: "acme/app", CloneURL: "u", Prefix: "APP"}, task.Project{TrackerProject: "p2", Repo: "acme/other", CloneURL: "u", Prefix: "OTH"})
	require.NoError(t, err)
	d.kit = setup(t, func(o *web.Options) {
		d.projects = o.Engine.Projects
		d.projects.Replace(projects)
		history, ok := o.Engine.Store.(*brokenStore)
		require.True(t, ok)
		unfreeze := func(context.Context, string) (bool, string, error) { return true, "", nil }
		show := dashboard.Options{Engine: o.Engine, History: history, Access: d.guard, Cards: own, Stop: true, Unfreeze: unfreeze}
		o.Access, o.Stop, o.Unfreeze = d.guard, true, unfreeze
		o.Reload = func(context.Context) (web.Reloaded, error) { return web.Reloaded{}, nil }
		o.Desk = admin.Desk{Engine: o.Engine, Cards: own, Source: "board"}
		done := make(chan struct{})
		close(done)
		o.Done, show.Done = done, done
		o.Dashboard, err = dashboard.Handler(show)
		require.NoError(t, err)
		d.api, err = web.Routes(*o)
		require.NoError(t, err)
		d.pages, err = dashboard.Routes(show)
		require.NoError(t, err)
	})
	d.mine, d.none = d.fill(own, 1, "acme/app", "p1"), d.fill(own, 2, "acme/other", "p2")
	waits := cards.Arrangement{ID: d.mine.card, Kind: cards.Blocked, Other: d.none.card, By: cards.Person{Name: "Kim"}}
	require.NoError(t, own.Arrange(t.Context(), waits))
	return d
}

// nobody is a provider that signs nobody in.
type nobody struct{}

func (nobody) Begin(context.Context, access.Challenge) (string, error) {
	return "https://id.example.org/", nil
}

func (nobody) Finish(context.Context, string, access.Challenge) (access.Person, error) {
	return access.Person{}, nil
}

// fill puts one of everything into a repository.
func (d *door) fill(own cards.Board, id int64, repo, project string) place {
	d.Helper()
	c, _, err := own.Make(d.Context(), cards.New{Key: repo, Project: project, Title: "secret of " + repo, By: cards.Person{Name: "Kim"}})
	require.NoError(d, err)
	row := task.Task{
		ID: id, Repo: repo, TrackerProjectID: project, TrackerIssueID: c.ID, WorkItemID: fmt.Sprint("X-", id), Branch: fmt.Sprint("b", id), Title: "secret of " + repo,
		State: stage.State{Stage: stage.Review},
	}
	effect := orchestrator.EffectJob(row, task.Project{}, stage.Effect{Kind: stage.EffectComment}, fmt.Sprint("k", id))
	require.NoError(d, d.store.Commit(d.Context(), task.Commit{Task: &row, Journal: []task.JournalEntry{{TaskID: id, Kind: task.KindOperator, Payload: []byte(`{"act":"stop"}`)}}, Jobs: []queue.Job{effect}}))
	jobs, err := d.store.Jobs(d.Context(), queue.Filter{TaskID: id})
	require.NoError(d, err)
	entries, err := d.store.Journal(d.Context(), id)
	require.NoError(d, err)
	return place{repo, project, c.ID, id, jobs[0].ID, entries[0].ID}
}

// address is a route in a repository, with what a form or a body needs.
func (p place) address(r access.Route, prefix string) (path string, body string) {
	id := fmt.Sprint(p.task)
	switch {
	case strings.HasPrefix(r.Pattern, "/effects/"):
		id = fmt.Sprint(p.effect)
	case strings.HasPrefix(r.Pattern, "/journal/"):
		id = fmt.Sprint(p.entry)
	case strings.HasPrefix(r.Pattern, "/board/"):
		id = p.card
	}
	at := strings.NewReplacer("{card}", p.card, "{id}", id, "{comment}", "none", "{file}", "none").Replace(r.Pattern)
	path = prefix + strings.NewReplacer("{run}", "1", "{attempt}", "1", "{name}", "dash.js", "{$}", "").Replace(at)
	if prefix == "" {
		return path, fmt.Sprintf(`{"repo":%q,"board":%q,"task":%d,"on":9}`, p.repo, p.project, p.task)
	}
	form := fmt.Sprintf("repo=%s&task=%d&project=%s&name=Kim", p.repo, p.task, p.project)
	return path + "?" + form, form
}

// ask sends a request for a route as somebody.
func (d *door) ask(r access.Route, prefix string, in place, token string) answer {
	d.Helper()
	path, body := in.address(r, prefix)
	header := map[string]string{"Content-Type": "application/json"}
	if prefix != "" {
		header["Content-Type"] = "application/x-www-form-urlencoded"
	}
	if token != "" {
		header["Authorization"] = "Bearer " + token
	}
	method := r.Method
	method = cmp.Or(method, http.MethodGet)
	return d.do(method, path, header, body)
}

// Every route, as everybody and with each role, in the repository of the role and in another one.
func TestAuthorisationMatrix(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	for prefix, routes := range map[string][]access.Route{"": d.api, "/dashboard": d.pages} {
		for _, r := range routes {
			name := r.Method + " " + prefix + r.Pattern
			if strings.HasPrefix(r.Pattern, "/webhooks/") || r.Pattern == "/dashboard/" {
				continue // a signature, and a table of its own
			}
			for _, in := range []place{d.mine, d.none} {
				as := d.ask(r, prefix, in, "")
				if open := r.Needs == access.Everybody; open {
					require.NotContains(t, as.body, "secret of", name)
					continue
				}
				require.Equal(t, http.StatusUnauthorized, as.status, "%s as nobody", name)
				require.NotContains(t, as.body, "secret of", name)
				for _, role := range access.Roles() {
					as := d.ask(r, prefix, in, d.tokens[role])
					may := role.Includes(r.Needs) && (in == d.mine || r.Of == access.Some) && r.Of != access.Every
					what := fmt.Sprintf("%s as %s of acme/app, in %s: %s", name, role, in.repo, as.body)
					if !may {
						require.Equal(t, http.StatusForbidden, as.status, what)
						require.Contains(t, as.body, string(r.Needs), what)
					} else {
						require.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, as.status, what)
					}
					require.NotContains(t, as.body, "secret of acme/other", what)
				}
			}
		}
	}
}

// The right is that of the repository which is acted on, whatever else a request names.
func TestAnotherRepositoryIsNamedToo(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	for _, c := range [][2]string{
		{"/serial-gate/unfreeze", `{"repo":"acme/other","task":1}`},
		{"/effects/hasten", `{"lane":"chat","repo":"acme/app"}`},
		{"/dashboard/repos/unfreeze", "repo=acme/other&task=1"},
		{"/dashboard/effects/hasten", "lane=chat&repo=acme/app"},
		{"/dashboard/effects/hasten?lane=chat", "task=2&repo=acme/app"},
	} {
		header := map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Authorization": "Bearer " + d.tokens[access.Admin]}
		require.Equal(t, http.StatusForbidden, d.do(http.MethodPost, c[0], header, c[1]).status, c)
	}
}

// What a board of our own asks beside its routes.
func TestColumnsNeedRoles(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	for column, least := range map[stage.Status]access.Role{
		stage.StatusToAnalyse: access.Operator, stage.StatusStop: access.Operator, stage.StatusApproved: access.Approver, stage.StatusRejected: access.Approver, stage.StatusConfirmDeploy: access.Releaser,
	} {
		for _, role := range access.Roles()[1:] {
			header := map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Authorization": "Bearer " + d.tokens[role]}
			a := d.do(http.MethodPost, "/dashboard/board/cards/"+d.mine.card+"/move", header, "column="+string(column))
			require.Equal(t, role.Includes(least), a.status != http.StatusForbidden, "%s by %s: %d", column, role, a.status)
		}
	}
}

// The table is the only way in: a row without a right, or with an unknown scope, is refused.
func TestRowsAreRequired(t *testing.T) {
	t.Parallel()
	g := access.New(access.Options{})
	for want, row := range map[string]access.Route{
		"names no right": {Method: "GET", Pattern: "/x"}, "nothing finds": {Method: "GET", Pattern: "/x", Needs: access.Viewer, Of: "the moon's"},
		"/y names no right": {Method: "GET", Pattern: "/y", Needs: access.Everybody, Of: access.Every}, "/z names no right": {Method: "GET", Pattern: "/z", Needs: "king", Of: access.Every},
	} {
		row.Handler = http.NotFoundHandler()
		_, err := g.Mux(access.Table{Routes: []access.Route{row}})
		require.ErrorContains(t, err, want)
	}
}
