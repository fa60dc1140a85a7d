package apidoc_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/apidoc"
)

// What a host's description does not have is reported: of a request, and of an answer.
func TestWatch(t *testing.T) {
	t.Parallel()
	d, err := apidoc.OfHost("github")
	require.NoError(t, err)
	const pulls = "GET /repos/a/b/pulls "
	for _, c := range []struct{ call, sent, said, wrong string }{
		{pulls, ``, `[{"number":1,"merge_commit_sha":null}]`, ""},
		{pulls, ``, `[{"merged":true}]`, "additional properties 'merged' not allowed"},
		{pulls, ``, `[{"number":"1"}]`, "got string, want integer"},
		{pulls, ``, `[{"state":`, "unexpected end"},
		{"GET /repos/a/b/pulls?state=merged", ``, `[]`, "value must be one of"},
		{"GET /repos/a/b/pulls?label=x", ``, `[]`, "the parameter label is not described"},
		{"GET /repos/a/b/nothing", ``, `[]`, "is no operation"},
		{"GET /repos/a/b/branches/feature/x", ``, `{"name":"feature/x"}`, ""},
		{"PUT /repos/a/b/pulls/1/merge", `{"sha":"x","merge_method":"squash"}`, `{"sha":"y","merged":true}`, ""},
		{"PUT /repos/a/b/pulls/1/merge", `{"merge_method":"octopus"}`, `{"sha":"y"}`, "'anyOf' failed"},
		{"PUT /repos/a/b/pulls/1/merge", `{"head":"x"}`, `{"sha":"y"}`, "'anyOf' failed"},
		{"POST /repos/a/b/labels", `{}`, `201 {}`, "missing property 'name'"},
		{"POST /repos/a/b/labels", `{"name":"x"}`, `{}`, "the answer is not described"},
		{"DELETE /repos/a/b/git/refs/heads/x", `{"a":1}`, `204 `, "a body is not described"},
		{"POST /graphql", `{"query":""}`, `{"data":null}`, ""},
	} {
		double := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			status := http.StatusOK
			if n, err := fmt.Sscanf(c.said, "%d ", &status); n == 1 && err == nil {
				w.WriteHeader(status)
			}
			_, _ = w.Write([]byte(strings.TrimPrefix(c.said, fmt.Sprint(status, " "))))
		})
		var wrong []string
		method, path, _ := strings.Cut(strings.TrimSpace(c.call), " ")
		watch := d.Watch(double, func(text string) { wrong = append(wrong, text) }, "", "/graphql")
		watch.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, strings.NewReader(c.sent)))
		require.Equal(t, c.wrong != "", len(wrong) > 0, "%v: %v", c, wrong)
		require.Contains(t, strings.Join(wrong, "\n"), c.wrong)
	}
}

// A description says whose it is, under which licence and of which version.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"github", "gitea"} {
		d, err := apidoc.OfHost(name)
		require.NoError(t, err)
		for _, key := range []string{"title", "version", "licence"} {
			require.NotEmpty(t, d.At(d, "info")[key], name)
		}
		require.Greater(t, len(d.Operations()), 25)
	}
}
