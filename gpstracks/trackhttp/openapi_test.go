package trackhttp_test

import (
	"fmt"
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

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
	"github.com/signalbox-dev/signalbox/internal/apidoc"
)

// send sends the examples of an operation's parameters, or other values.
func send(r *rig, root apidoc.Document, name string, values map[string]string) *httptest.ResponseRecorder {
	r.Helper()
	method, path, _ := strings.Cut(name, " ")
	query := url.Values{}
	list, _ := root.Operations()[name]["parameters"].([]any)
	for _, one := range list {
		p := root.Resolve(one.(map[string]any))
		key := p["name"].(string)
		require.Empty(r, root.Violations(p["schema"].(map[string]any), p["example"], name))
		value, is := values[key]
		if !is {
			value = fmt.Sprint(p["example"])
		}
		if p["in"] == "path" {
			path = strings.ReplaceAll(path, "{"+key+"}", value)
		} else if value != "" {
			query.Set(key, value)
		}
	}
	return r.do(r.Context(), method, strings.TrimSuffix(path+"?"+query.Encode(), "?"), "Authorization", values["token"])
}

func fits(r *rig, root apidoc.Document, name string, w *httptest.ResponseRecorder) {
	r.Helper()
	what := fmt.Sprintf("%s: %d %s", name, w.Code, w.Body)
	response := root.Operations()[name].At(root, "responses", fmt.Sprint(w.Code))
	require.NotNil(r, response, what)
	content := response.At(root, "content", w.Header().Get("Content-Type"))
	require.NotNil(r, content, "%s (%s)", what, w.Header().Get("Content-Type"))
	if !strings.Contains(w.Header().Get("Content-Type"), "json") {
		return
	}
	v, err := apidoc.Decode(w.Body.Bytes())
	require.NoError(r, err, what)
	require.Empty(r, root.Violations(content.At(root, "schema"), v, name), what)
	if kinds, refused := response["x-kinds"].([]any); refused {
		require.Contains(r, kinds, strings.TrimPrefix(v.(map[string]any)["type"].(string), "urn:signalbox:problem:"), what)
	}
}

// Each example is sent and each answer is as described; so are refusals, and no kind of them is missing.
func TestDescription(t *testing.T) {
	r := newRig(t, trackhttp.Options{ClearToken: "the token", Sources: []trackhttp.Source{{Name: "osm", Enabled: true, Decision: "accepted",
		Licence: "ODbL", LicenceURL: "https://example.org", Download: true}, {Name: "shut"}}})
	begin := time.Date(2031, 5, 4, 8, 0, 0, 0, time.UTC)
	r.put(gpstracks.Track{
		Name: "all of it", Activity: gpstracks.Hiking, ActivityFrom: "name", Lines: orb.MultiLineString{{{7.1, 46.1}, {7.4, 46.2}}},
		StartedAt: begin, EndedAt: begin.Add(time.Hour), Moving: time.Minute, RecordedOn: begin,
		Elevation: &gpstracks.Elevation{AscentM: 9, MaxM: 9, Profile: []gpstracks.ProfilePoint{{}, {AlongM: 25_000, EleM: 9}}},
	}, gpstracks.Track{Name: "little of it", Source: "shut", Lines: orb.MultiLineString{{{7.1, 46.3}, {7.4, 46.4}}}})
	_, err := r.store.SaveRun(t.Context(), gpstracks.Run{Source: "osm", Region: "alps", StartedAt: begin})
	require.NoError(t, err)
	served := r.get("/openapi.json")
	root, err := apidoc.Read(served.Body.Bytes())
	require.NoError(t, err)
	for name := range root.Operations() {
		w := send(r, root, name, map[string]string{"token": "Bearer the token", "cursor": "", "activity": ""})
		require.Equal(t, http.StatusOK, w.Code, "%s: %s", name, w.Body)
		fits(r, root, name, w)
	}
	require.Contains(t, send(r, root, "GET /", map[string]string{"cursor": ""}).Body.String(), `"profile"`,
		"or less is shown than the test is to be about")
	for _, c := range []struct {
		name   string
		values map[string]string
		status int
	}{
		{"GET /", map[string]string{"bbox": "7,46,8"}, http.StatusBadRequest},
		{"GET /", map[string]string{"source": "moon"}, http.StatusBadRequest},
		{"GET /tracks/{id}", map[string]string{"id": "99"}, http.StatusNotFound},
		{"GET /tracks/{id}.gpx", map[string]string{"id": "2"}, http.StatusForbidden},
		{"GET /tiles/{z}/{x}/{y}.mvt", map[string]string{"z": "40"}, http.StatusBadRequest},
		{"POST /cache/clear", nil, http.StatusUnauthorized},
	} {
		w := send(r, root, c.name, c.values)
		require.Equal(t, c.status, w.Code, "%s: %s", c.name, w.Body)
		fits(r, root, c.name, w)
	}
	var code, listed []string
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, kind := range regexp.MustCompile(`problem\(w, http[^,]+, "([a-z-]+)"`).FindAllStringSubmatch(string(body), -1) {
			code = append(code, "urn:signalbox:problem:"+kind[1])
		}
	}
	for _, kind := range root.At(root, "components", "schemas", "Problem", "properties", "type")["enum"].([]any) {
		listed = append(listed, kind.(string))
	}
	slices.Sort(code)
	require.Equal(t, slices.Compact(code), listed)
}
