package planetest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/planetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token = "plane_api_x"
	bot   = "account-bot"
)

// open starts a board with one project, reachable at the address.
func open(t *testing.T, opts ...planetest.Options) (s *planetest.Server, project, address string) {
	t.Helper()
	o := append(opts, planetest.Options{})[0]
	o.Tokens = map[string]string{token: bot, "second": "account-second"}
	s = planetest.New(o)
	srv := httptest.NewServer(s)
	t.Cleanup(func() { s.Close(); srv.Close() })
	return s, s.AddProject("GPX", "Backlog", "In Progress", "Done"), srv.URL
}

// reply is an answer of the API.
type reply struct {
	status int
	header http.Header
	body   map[string]any
}

var client = &http.Client{ // without a time-out: what hangs shall be seen to hang
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// request calls the API; an error is one of the connection.
func request(t *testing.T, method, url, key, body string) (reply, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	if key != "" {
		req.Header.Set("X-Api-Key", key)
	}
	resp, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	out := reply{status: resp.StatusCode, header: resp.Header}
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	_ = json.Unmarshal(raw, &out.body) // a redirect has no JSON
	return out, nil
}

// must is request where the connection is not at stake.
func must(t *testing.T, method, url, body string) reply {
	t.Helper()
	r, err := request(t, method, url, token, body)
	require.NoError(t, err)
	return r
}

func TestHabits(t *testing.T) {
	t.Parallel()
	s, p, at := open(t)
	id := addItem(t, s, p, "t", "<p>d</p>")
	project := at + "/api/v1/workspaces/acme/projects/" + p + "/"
	item := project + "work-items/" + id + "/"
	elsewhere := s.AddProject("SHP", "Backlog")
	long := project + "states/?per_page=2&cursor="
	for _, tt := range []struct {
		name, method, url, key, body string
		status                       int
		says                         string
	}{
		{"no slash", "POST", strings.TrimSuffix(item, "/") + "/comments", token, `{}`, 301, ""},
		{"no key", "GET", item, "", "", 401, "not provided"},
		{"a wrong key", "GET", item, "wrong", "", 403, "not valid"},
		{"a foreign project", "GET", at + "/api/v1/workspaces/acme/projects/00000000-0000-4000-8000-00000000dead/states/", token, "", 403, "permission"},
		{"a foreign workspace", "GET", at + "/api/v1/workspaces/other/projects/", token, "", 403, "do not have permission"},
		{"no such item", "GET", project + "work-items/00000000-0000-4000-8000-00000000dead/", token, "", 404, "does not exist"},
		{"no id", "GET", project + "work-items/x/", token, "", 404, "Page not found."},
		{"no such address", "DELETE", item + "comments/", token, "", 404, "Page not found."},
		{"projects", "GET", at + "/api/v1/workspaces/acme/projects/", token, "", 200, `"identifier":"GPX"`},
		{"a project", "GET", project, token, "", 200, `"identifier":"GPX"`},
		{"an item", "GET", item, token, "", 200, `"state":"0`},
		{"an item and its state", "GET", item + "?expand=labels,state", token, "", 200, `"name":"Backlog"`},
		{"a cursor that is none", "GET", long + "x", token, "", 400, "Invalid cursor"},
		{"a page before the first", "GET", long + "2:-1:1", token, "", 400, "Invalid cursor"},
		{"a page far behind the last", "GET", long + "2:900:0", token, "", 200, `"results":[]`},
		{"too large pages", "GET", project + "states/?per_page=1001", token, "", 400, "per_page"},
		{"not JSON", "PATCH", item, token, "{", 400, "payload"},
		{"an unknown state", "PATCH", item, token, `{"state":"x"}`, 400, `{"state":["Invalid pk`},
		{"a foreign state", "PATCH", item, token, `{"state":"` + s.States(elsewhere)[0].ID + `"}`, 400, "non_field_errors"},
		{"a long name", "PATCH", item, token, `{"name":"` + strings.Repeat("é", 256) + `"}`, 400, `{"name":["Ensure this field`},
		{"too much", "PATCH", item, token, `{"name":"` + strings.Repeat("x", 6<<20) + `"}`, 413, "TOO_LARGE"},
	} {
		r, err := request(t, tt.method, tt.url, tt.key, tt.body)
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.status, r.status, tt.name)
		raw, err := json.Marshal(r.body)
		require.NoError(t, err)
		require.Contains(t, string(raw), tt.says, tt.name)
	}
	require.Empty(t, s.Changes())
	require.Empty(t, s.Comments(id))
}

// The name that the web page uses for the field is ignored, without a word.
func TestStateIDIsIgnored(t *testing.T) {
	t.Parallel()
	s, p, at := open(t)
	id := addItem(t, s, p, "t", "d")
	item := at + "/api/v1/workspaces/acme/projects/" + p + "/work-items/" + id + "/"
	done := s.States(p)[2].ID
	require.Equal(t, 200, must(t, "PATCH", item, `{"state_id":"`+done+`"}`).status)
	require.Empty(t, s.Changes())
	for range 2 { // the second one changes nothing
		require.Equal(t, 200, must(t, "PATCH", item, `{"state":"`+done+`"}`).status)
	}
	require.Len(t, s.Changes(), 1)
	c := s.Changes()[0]
	require.Equal(t, []string{id, "Backlog", "Done", bot}, []string{c.Item, c.From, c.To, c.Actor})
}

func TestPages(t *testing.T) {
	t.Parallel()
	s, p, at := open(t)
	for n := range 5 {
		addItem(t, s, p, fmt.Sprint(n), "d")
	}
	cursor, seen := "", map[any]bool{}
	for page := range 3 {
		r := must(t, "GET", at+"/api/v1/workspaces/acme/projects/"+p+"/work-items/?per_page=2&order_by=-updated_at&cursor="+cursor, "")
		for _, row := range r.body["results"].([]any) {
			seen[row.(map[string]any)["name"]] = true
		}
		require.Equal(t, page < 2, r.body["next_page_results"])
		require.Equal(t, fmt.Sprintf("2:%d:0", page+1), r.body["next_cursor"], "there is always one")
		cursor = r.body["next_cursor"].(string)
	}
	require.Len(t, seen, 5)
}

// Each fault of the API, made certain: what is answered, and what has happened.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		faults fakehttp.Faults
		status int // 0 = the connection breaks
		done   int // comments there are afterwards
	}{
		"429":          {fakehttp.Faults{TooMany: 1}, 429, 0},
		"500 before":   {fakehttp.Faults{ErrorBefore: 1}, 500, 0},
		"500 after":    {fakehttp.Faults{ErrorAfter: 1}, 500, 1},
		"dropped":      {fakehttp.Faults{Dropped: 1}, 0, 0},
		"dropped late": {fakehttp.Faults{DroppedLate: 1}, 0, 1},
		"held":         {fakehttp.Faults{Held: 1, Hold: time.Millisecond}, 0, 0},
		"none":         {fakehttp.Faults{}, 201, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p, at := open(t, planetest.Options{Seed: 7})
			id := addItem(t, s, p, "t", "d")
			s.SetFaults(tt.faults)
			r, err := request(t, "POST", at+"/api/v1/workspaces/acme/projects/"+p+"/work-items/"+id+"/comments/", token, `{"comment_html":"x"}`)
			require.Equal(t, tt.status == 0, err != nil)
			require.Equal(t, tt.status, r.status)
			require.Len(t, s.Comments(id), tt.done)
			if tt.status == 429 {
				require.Equal(t, "1", r.header.Get("Retry-After"))
			}
			s.SetFaults(fakehttp.Faults{})
			require.Equal(t, 200, must(t, "GET", at+"/api/v1/users/me/", "").status, "and it is over at once")
		})
	}
}

// A connection that is held ends with the server, and holds up nobody else.
func TestHeldConnectionEndsWithTheServer(t *testing.T) {
	t.Parallel()
	s, _, at := open(t)
	s.SetFaults(fakehttp.Faults{Hold: time.Hour})
	s.Fail(fakehttp.Held)
	held := make(chan error)
	go func() {
		_, err := request(t, "GET", at+"/api/v1/users/me/", token, "")
		held <- err
	}()
	for s.Pending() > 0 {
		time.Sleep(time.Millisecond) // until the other call has met the fault
	}
	require.Equal(t, 200, must(t, "GET", at+"/api/v1/users/me/", "").status)
	s.Close()
	require.Error(t, <-held)
}

// The same seed makes the same faults.
func TestSeed(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64) string {
		s := planetest.New(planetest.Options{Seed: seed, Tokens: map[string]string{token: bot}})
		defer s.Close()
		s.SetFaults(fakehttp.Faults{TooMany: 0.3, ErrorBefore: 0.3})
		var out bytes.Buffer
		for range 60 {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "/api/v1/users/me/", nil)
			r.Header.Set("X-Api-Key", token)
			s.ServeHTTP(w, r)
			fmt.Fprint(&out, w.Code, " ")
		}
		return out.String()
	}
	require.Equal(t, draw(1), draw(1))
	require.NotEqual(t, draw(1), draw(2))
	for _, code := range []string{"200", "429", "500"} {
		require.Contains(t, draw(1), code)
	}
}
