package labelboard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/internal/apidoc"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/trackertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token  = "bot-token"
	secret = "s3cret"
	repo   = "acme/shop"
	kim    = "kim"
)

// double is a git host of either kind, with what tests do to it.
type double struct {
	*forgetest.Server

	kind   forge
	issues *forgetest.Issues
	bare   string // an empty repository
	self   string
	url    string
}

// forge is a kind of git hosts.
type forge string

const (
	onGitHub forge = "github"
	onGitea  forge = "gitea"
)

func kinds() []forge { return []forge{onGitHub, onGitea} }

// open makes a git host, with one repository. A nil clock is the real one.
func open(t *testing.T, kind forge, now func() time.Time) *double {
	t.Helper()
	d := &double{kind: kind, bare: t.TempDir(), self: forgetest.Self}
	require.NoError(t, os.WriteFile(filepath.Join(d.bare, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600))
	o := forgetest.Options{Token: token, Secret: secret, Now: now, Poll: time.Hour}
	d.Server = map[forge]func(forgetest.Options) *forgetest.Server{
		onGitHub: forgetest.NewGitHub, onGitea: forgetest.NewGitea,
	}[kind](o)
	d.issues = d.Issues()
	srv := httptest.NewServer(described(t, d))
	t.Cleanup(func() { d.Close(); srv.Close() })
	d.add(t, repo)
	d.url = srv.URL
	return d
}

// add makes a repository.
func (d *double) add(t *testing.T, repo string) {
	t.Helper()
	require.NoError(t, d.AddRepo(repo, d.bare))
	d.SetSettings(repo, func(o *forgetest.Settings) { o.Admin = d.kind == onGitea })
}

// meet makes a call meet a fault; it is called as in "GET /repos/{owner}/{repo}/labels".
func (d *double) meet(call string, f fakehttp.Fault) {
	method, path, _ := strings.Cut(call, " ")
	if d.kind == onGitea {
		path = forgetest.Prefix + path
	}
	d.Break(method+" "+path, f)
}

func (d *double) fail(call string, how faulttest.Kind) {
	later := fakehttp.Secondary
	if d.kind == onGitea {
		later = fakehttp.TooMany
	}
	d.meet(call, map[faulttest.Kind]fakehttp.Fault{faulttest.Final: fakehttp.Denied, faulttest.Passing: fakehttp.ErrorBefore, faulttest.Later: later}[how])
}

// described holds what the board sends and the double answers against the host's own description.
func described(t testing.TB, d *double) http.Handler {
	t.Helper()
	name, prefix := "github", ""
	if d.kind == onGitea {
		name, prefix = "gitea", forgetest.Prefix
	}
	doc, err := apidoc.OfHost(name)
	require.NoError(t, err)
	return doc.Watch(d, func(wrong string) { t.Error(wrong) }, prefix, "/graphql")
}

// issues are those that a client of a git host gives. Nil is the network, and the real clock.
func issues(t require.TestingT, kind forge, url, token string, wire http.RoundTripper, now func() time.Time) labelboard.Issues {
	to := &http.Client{Timeout: 5 * time.Second, Transport: wire}
	if kind == onGitea {
		c, err := gitea.New(gitea.Options{BaseURL: url, Token: token, HTTPClient: to, Now: now})
		require.NoError(t, err)
		return c.Issues()
	}
	c, err := github.New(github.Options{BaseURL: url, Token: token, HTTPClient: to, Now: now})
	require.NoError(t, err)
	return c.Issues()
}

// client makes a client of the host at an address.
func client(t *testing.T, url string, kind forge, change func(*labelboard.Options)) *labelboard.Client {
	t.Helper()
	to := &http.Transport{DisableKeepAlives: true}
	o := labelboard.Options{Issues: issues(t, kind, url, token, to, nil), Secrets: signature.Of(secret)}
	if change != nil {
		change(&o)
	}
	c, err := labelboard.New(o)
	require.NoError(t, err)
	return c
}

func setup(t *testing.T, kind forge, change func(*labelboard.Options)) (*labelboard.Client, *double) {
	t.Helper()
	d := open(t, kind, nil)
	c := client(t, d.url, kind, change)
	require.NoError(t, c.Identify(t.Context()))
	return c, d
}

// inEach runs a test over both kinds of hosts.
func inEach(t *testing.T, f func(t *testing.T, c *labelboard.Client, d *double)) {
	t.Helper()
	for _, kind := range kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c, d := setup(t, kind, nil)
			f(t, c, d)
		})
	}
}

func label(s stage.Status) string {
	info, _ := stage.StatusNamed(s)
	return "Status/" + strings.ToUpper(info.Name) // names are matched whatever their case
}

func (d *double) columns(statuses ...stage.Status) { d.columnsOf(repo, statuses...) }

func (d *double) columnsOf(repo string, statuses ...stage.Status) {
	for _, s := range statuses {
		d.issues.AddLabel(repo, label(s))
	}
}

func all() (out []stage.Status) {
	for _, s := range stage.Statuses() {
		out = append(out, s.Key)
	}
	return out
}

// id is that of an issue as the board has it.
func (d *double) id(repo string, number int) string {
	return fmt.Sprintf("%s/%s#%d", strings.TrimPrefix(d.url, "http://"), repo, number)
}

// card makes an issue of Kim's.
func (d *double) card(title, text string) string {
	return d.id(repo, d.issues.Open(repo, kim, title, text))
}

// onBoard is a card in a repository that has all columns.
func (d *double) onBoard(title, text string) string {
	d.columns(all()...)
	return d.card(title, text)
}

// split divides an id.
func split(t *testing.T, id string) (repo string, number int) {
	t.Helper()
	rest, text, _ := strings.Cut(id, "#")
	_, repo, _ = strings.Cut(rest, "/")
	number, err := strconv.Atoi(text)
	require.NoError(t, err)
	return repo, number
}

// move gives an issue the label of a column, and takes the others away, as one does in the browser.
func (d *double) move(t *testing.T, id string, to stage.Status) {
	t.Helper()
	repo, n := split(t, id)
	for _, l := range d.issues.Issue(repo, n).Labels {
		if strings.HasPrefix(l.Name, "Status/") && l.Name != label(to) && d.kind == onGitHub {
			require.NoError(t, d.issues.Unlabel(repo, n, kim, l.Name))
		}
	}
	require.NoError(t, d.issues.Label(repo, n, kim, label(to)))
}

// calls are the routes that the calls of the port use.
func calls(kind forge) map[string]string {
	const at = "/repos/{owner}/{repo}"
	log := "/events"
	if kind == onGitea {
		log = "/timeline"
	}
	return map[string]string{
		"AddComment": "POST " + at + "/issues/{number}/comments", "SetStatus": "PUT " + at + "/issues/{number}/labels",
		"Item": "GET " + at + "/issues/{number}", "List": "GET " + at + "/issues", "Comments": "GET " + at + "/issues/{number}/comments",
		"Columns": "GET " + at + "/labels", "LastMove": "GET " + at + "/issues/{number}" + log,
	}
}

func TestConformance(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(string(kind), func(t *testing.T) {
			trackertest.Run(t, func(t *testing.T) trackertest.Fixture {
				at := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
				tick := func() time.Time { at = at.Add(time.Second); return at } // called under the double's lock
				d := open(t, kind, tick)
				d.issues.AddPerson(forgetest.Person{Login: kim, Name: "Kim", Email: "kim@example.org"})
				d.SetRole(kim, "write")
				c := client(t, d.url, kind, nil)
				require.NoError(t, c.Identify(t.Context()))
				projects := 0
				return trackertest.Fixture{
					Tracker: c, Person: tracker.Person{ID: kim, Name: "Kim", Email: "kim@example.org", Role: "write"},
					NewProject: func(columns ...stage.Status) string {
						projects++
						p := fmt.Sprint(repo, projects)
						d.add(t, p)
						d.columnsOf(p, columns...)
						return p
					},
					NewItem: func(p, title, description string) string {
						return d.id(p, d.issues.Open(p, kim, title, description))
					},
					Move: func(id string, to stage.Status) { d.move(t, id, to) },
					Say: func(id, text string) {
						repo, n := split(t, id)
						require.NoError(t, d.issues.Say(repo, n, kim, text))
					},
					Fail: func(call string, how faulttest.Kind) { d.fail(calls(kind)[call], how) },
					Edges: trackertest.Edges{
						HookTo: d.SetHookURL,
						Label: func(item string, labels ...string) {
							repo, n := split(t, item)
							for _, l := range d.issues.Labels(repo) {
								if !strings.HasPrefix(strings.ToLower(l.Name), "status/") {
									d.issues.DeleteLabel(repo, l.Name)
								}
							}
							for _, name := range labels {
								d.issues.AddLabel(repo, name)
								require.NoError(t, d.issues.Label(repo, n, kim, name))
							}
						},
						Block: func(item, by string) {
							repo, n := split(t, item)
							_, m := split(t, by)
							d.issues.Block(repo, n, m)
						},
					},
				}
			})
		})
	}
}

// read asks a port, which is to answer.
func read[Q, A any](t testing.TB, port func(context.Context, Q) (A, error), of Q) A {
	t.Helper()
	answer, err := port(t.Context(), of)
	require.NoError(t, err)
	return answer
}
