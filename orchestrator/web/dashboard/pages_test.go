package dashboard_test

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
)

// page holds what a browser makes of an answer.
type page struct {
	scripts, actions, links, ids, refs []string
	text                               string
}

// read takes a page apart, and refuses what a page must not have.
func read(t *testing.T, at, body string) page {
	t.Helper()
	var p page
	d := xml.NewDecoder(strings.NewReader(strings.ReplaceAll(body, "\x1b", ""))) // XML forbids what HTML only frowns at
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return p
		}
		require.NoError(t, err, at)
		switch tok := tok.(type) {
		case xml.CharData:
			p.text += string(tok)
		case xml.StartElement:
			name := strings.ToLower(tok.Name.Local)
			require.NotContains(t, []string{"img", "iframe", "style", "base", "object", "embed"}, name, at)
			has := p.attributes(t, at, tok.Attr)
			if name == "script" {
				require.True(t, has, "%s: a script of the page's own", at)
			}
		}
	}
}

func (p *page) attributes(t *testing.T, at string, list []xml.Attr) (src bool) {
	t.Helper()
	for _, a := range list {
		name := strings.ToLower(a.Name.Local)
		require.False(t, strings.HasPrefix(name, "on") || name == "style" || name == "srcdoc", "%s: attribute %s=%q", at, name, a.Value)
		switch name {
		case "src":
			p.scripts, src = append(p.scripts, a.Value), true
		case "href":
			p.links = append(p.links, a.Value)
		case "action":
			p.actions = append(p.actions, a.Value)
		case "id":
			p.ids = append(p.ids, a.Value)
		case "aria-labelledby", "aria-describedby", "for":
			p.refs = append(p.refs, a.Value)
		}
	}
	return src
}

// crawl follows every link of the dashboard and returns the pages by address.
func (w *world) crawl(prefix string) map[string]page {
	w.Helper()
	out := map[string]page{}
	todo := []string{prefix + "/"}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		if _, seen := out[at]; seen {
			continue
		}
		base, err := url.Parse("http://host" + at)
		require.NoError(w, err)
		a := w.request(http.MethodGet, prefix, strings.TrimPrefix(at, prefix), nil)
		require.Equal(w, http.StatusOK, a.status, at)
		if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			out[at] = page{}
			continue
		}
		require.Contains(w, a.header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self';", at)
		p := read(w.T, at, a.body)
		out[at] = p
		for _, id := range p.refs {
			require.Contains(w, p.ids, id, at)
		}
		slices.Sort(p.ids)
		require.Equal(w, len(p.ids), len(slices.Compact(slices.Clone(p.ids))), "%s: an id is there twice: %v", at, p.ids)
		for _, link := range slices.Concat(p.links, p.scripts, p.actions) {
			u, err := base.Parse(link)
			require.NoError(w, err, at)
			require.Contains(w, []string{"http", "https"}, u.Scheme, "%s leads to %s", at, link)
			if u.Host != "host" || u.Path == "/map" {
				continue
			}
			require.True(w, strings.HasPrefix(u.Path, prefix+"/"), "%s leads out of the dashboard: %s", at, link)
			if !slices.Contains(p.actions, link) || strings.HasSuffix(u.Path, "/") {
				todo = append(todo, u.RequestURI())
			}
		}
	}
	return out
}

// Every page that can be reached works at any prefix, whatever strangers write.
func TestHostileTextEverywhere(t *testing.T) {
	for _, prefix := range []string{"", "/x", "/some/where"} {
		t.Run("at "+prefix+"/", func(t *testing.T) {
			inWorld(t, nil, func(w *world) {
				w.full()
				seen := w.crawl(prefix)
				for _, kind := range []string{
					`/$`, `/queue$`, `/repos$`, `/cost$`, `/cost\?days=7$`, `/history$`, `/history\?days=90&repo=$`, `/journal$`, `/journal\?before=\d+$`, `/journal/\d+$`, `/tasks/\d+$`, `/tasks/\d+/runs/\d+/\d+$`,
					`/tasks/\d+/retry$`, `/tasks/\d+/stop$`, `/repos/unfreeze\?repo=`, `/session$`, `/assets/dash.js\?v=`, `/log\?all=1$`, `/\?stage=review$`,
				} {
					form := regexp.MustCompile("^" + prefix + ".*" + kind)
					require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(seen)), form.MatchString), "no link leads to %s", kind)
				}
				// Their words are there, as words.
				for at, text := range map[string]string{"/": "<script>alert(1)</script> task 1 <img src=x", "/tasks/1": "done </title></pre></script>", "/tasks/1/runs/1/1": "output </title></pre></script>"} {
					require.Contains(t, seen[prefix+at].text, text, at)
				}
			})
		})
	}
}

// A project's or host's address that is no web address leads nowhere.
func TestHostileAddress(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		id := w.card(project, "x")
		row := w.Task(id)
		row.State.PRURL = "javascript:alert(1)"
		require.NoError(w, w.Store.Commit(context.Background(), task.Commit{Task: &row}))
		a := w.get("/tasks/1")
		require.Contains(w, a.body, "Pull request")
		for _, link := range read(w.T, "/tasks/1", a.body).links {
			require.False(w, strings.HasPrefix(link, "javascript:"), link)
		}
	})
}

// The words are those of the code that decides.
func TestWordsOfTheEngine(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.full()
		ctx := context.Background()
		live, err := w.Store.Tasks(ctx, task.Filter{Live: true})
		require.NoError(w, err)
		require.GreaterOrEqual(w, len(live), 4)
		board := plain(w.get("/").body)
		kinds := map[string]bool{}
		for _, task := range live {
			x, err := explain.One(ctx, w.Engine, task.ID)
			require.NoError(w, err)
			require.Contains(w, board, words(turned(x.Summary)))
			own := plain(w.get(fmt.Sprintf("/tasks/%d", task.ID)).body)
			for _, b := range x.Blockers {
				kinds[b.Kind] = true
				require.Contains(w, own, words(turned(b.Why)))
				require.Contains(w, own, words(b.Do))
			}
			for _, m := range x.Moves {
				require.Contains(w, own, words(m.Why))
			}
		}
		require.True(w, kinds["serial_gate"] && kinds["human"], "%v", kinds)
	})
}

var (
	inline = regexp.MustCompile(`</?(a|b|bdi|code|small|time)\b[^>]*>`)
	tags   = regexp.MustCompile(`<[^>]*>`)
)

// turned is a text without the characters that turn its direction.
func turned(text string) string { return strings.ReplaceAll(text, "\u202e", "") }

// plain is the text of a page; words is text as a page's text.
func plain(body string) string {
	return words(html.UnescapeString(tags.ReplaceAllString(inline.ReplaceAllString(body, ""), " ")))
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// The list of what waits for a person comes first, and says what ends the wait.
func TestNeedsYou(t *testing.T) {
	var warnings []string
	warn := func(o *dashboard.Options) { o.Warnings = func(context.Context) []string { return warnings } }
	inWorld(t, warn, func(w *world) {
		first := w.card(project, "first card")
		w.card("p2", "second card")
		w.freeze(0, "degraded since noon")
		body := plain(w.get("/").body)
		require.Regexp(w, `Needs you 3 frozen acme/app degraded since noon Unfreeze… .* needs you APP-1 first card .* Set Approved on the card, .* needs you OTH-\d second card .* Repository`, body)
		w.move(project, first, stage.StatusApproved)
		require.Regexp(w, `Needs you 2 frozen`, plain(w.get("/").body))
		warnings = []string{"the tracker is <b>away</b>"}
		require.Regexp(w, `Needs you 3 frozen .* service the tracker is <b>away</b> .* needs you`, plain(w.get("/").body))
		require.NotContains(w, w.get("/").body, "<b>away")
	})
}

func TestBoardFilters(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.card(project, "Alpha")
		w.card("p2", "Beta")
		count := func(query string) int { return strings.Count(w.get("/"+query).body, `<article class="card`) }
		require.Equal(w, 2, count(""))
		require.Equal(w, 1, count("?repo=acme/app"))
		require.Equal(w, 1, count("?q=BETA"))
		require.Equal(w, 2, count("?stage=analysis"))
		require.Zero(w, count("?stage=review"))
		require.Zero(w, count("?q=alpha&repo=acme/other"))
		w.shows("/?q=alpha", "1 of 2 tasks")
	})
}

func TestBadAddresses(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.card(project, "x")
		for path, want := range map[string]int{
			"/nothing": 404, "/tasks/9": 404, "/tasks/x": 400, "/tasks/-1": 400, "/tasks/1/runs/1/9": 404, "/tasks/1/runs/x/1": 400, "/tasks/1/runs/1/9/log": 404,
			"/tasks/1/runs/1/1/log?from=x": 400, "/tasks/1/runs/1/1/log": 404, "/journal/999": 404, "/journal?before=x": 400, "/cost?days=0": 400, "/cost?days=1e9": 400,
			"/assets/x": 404, "/assets/..%2fpages%2fboard.html": 404, "/repos/unfreeze?repo=no/such": 404,
		} {
			a := w.get(path)
			require.Equal(w, want, a.status, path)
			require.Contains(w, a.header.Get("Content-Security-Policy"), "default-src 'none'", path)
		}
		w.has("/tasks/9", "There is no such task.")
	})
}

func TestAssets(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p := read(w.T, "/", w.get("/").body)
		require.Len(w, p.scripts, 2, "dash.js and keys.js")
		a := w.request(http.MethodGet, "", "/"+strings.TrimPrefix(p.scripts[0], "./"), nil)
		require.LessOrEqual(w, len(a.body), 6_000, "the script is small")
		require.Contains(w, a.header.Get("Cache-Control"), "immutable")
		require.Equal(w, "text/javascript; charset=utf-8", a.header.Get("Content-Type"))
		require.Equal(w, "no-cache", w.get("/assets/dash.js?v=old").header.Get("Cache-Control"))
		again := w.request(http.MethodGet, "", "/assets/dash.js", nil, "If-None-Match", a.header.Get("ETag"))
		require.Equal(w, http.StatusNotModified, again.status)
	})
}

func TestOptions(t *testing.T) {
	_, err := dashboard.Handler(dashboard.Options{})
	require.ErrorContains(t, err, "Engine, History and Access are required")
	inWorld(t, nil, func(w *world) {
		for _, l := range []dashboard.Link{{Name: "x", URL: "javascript:alert(1)"}, {Name: "", URL: "/map"}, {Name: "x", URL: ""}} {
			o := w.opt
			o.Links = []dashboard.Link{l}
			_, err := dashboard.Handler(o)
			require.ErrorContains(w, err, "Options.Links")
		}
	})
}
