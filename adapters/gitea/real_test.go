package gitea_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
)

// A conversation on a real Gitea: SIGNALBOX_GITEA_URL is its address and SIGNALBOX_GITEA_TOKEN that of an administrator, who makes
// accounts and a repository there. The service's account may write, with the scopes that are documented.
func TestRealGitea(t *testing.T) {
	base, boss := os.Getenv("SIGNALBOX_GITEA_URL"), os.Getenv("SIGNALBOX_GITEA_TOKEN")
	if base == "" {
		t.Skip("SIGNALBOX_GITEA_URL names no server")
	}
	type object = map[string]any
	call := func(auth, method, path string, in, out any) {
		t.Helper()
		body, err := json.Marshal(in)
		require.NoError(t, err)
		req, err := http.NewRequestWithContext(t.Context(), method, base+"/api/v1"+path, bytes.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", auth)
		resp, err := forgekit.HTTP(time.Minute).Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		require.Equal(t, 2, resp.StatusCode/100, "%s %s: %d", method, path, resp.StatusCode)
		if out != nil {
			require.NoError(t, json.NewDecoder(resp.Body).Decode(out))
		}
	}
	admin, at := "token "+boss, fmt.Sprintf("t%d", time.Now().UnixNano())
	account := func(name string, scopes ...string) string {
		const password = "pw-12345678-x"
		call(admin, "POST", "/admin/users", object{"username": name, "password": password, "email": name + "@example.org", "must_change_password": false}, nil)
		var made struct{ SHA1 string }
		basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
		call(basic, "POST", "/users/"+name+"/tokens", object{"name": "t", "scopes": scopes}, &made)
		return made.SHA1
	}
	self, ann := account(at+"-svc", "write:repository", "read:user"), "token "+account(at+"-ann", "all")
	call(admin, "POST", "/orgs", object{"username": at}, nil)
	call(admin, "POST", "/orgs/"+at+"/repos", object{"name": "shop", "auto_init": true, "default_branch": "main"}, nil)
	in, name := "/repos/"+at+"/shop", at+"/shop"
	for _, who := range []string{"-svc", "-ann"} {
		call(admin, "PUT", in+"/collaborators/"+at+who, object{"permission": "write"}, nil)
	}
	write := func(method, body, sha string) string {
		var out struct{ Content struct{ SHA string } }
		call(ann, method, in+"/contents/cart.go", object{"branch": "feature/a", "content": base64.StdEncoding.EncodeToString([]byte(body)), "message": "m", "sha": sha}, &out)
		return out.Content.SHA
	}
	call(ann, "POST", in+"/branches", object{"new_branch_name": "feature/a"}, nil)
	file := write("POST", "one\ntwo\nthree\n", "")
	client, err := gitea.New(gitea.Options{BaseURL: base, Token: self, HTTPClient: forgekit.HTTP(time.Minute)})
	require.NoError(t, err)
	pr, err := client.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: name, Head: "feature/a", Base: "main", Title: "T"})
	require.NoError(t, err)
	asked := []object{{"path": "cart.go", "new_position": 3, "body": "Why?"}, {"path": "cart.go", "new_position": 1, "body": "How?"}}
	call(ann, "POST", in+fmt.Sprintf("/pulls/%d/reviews", pr.Number), object{"event": "REQUEST_CHANGES", "body": "See below.", "comments": asked}, nil)
	write("PUT", "one\n", file) // the line is gone

	lines := func(want int) []githost.LineComment {
		t.Helper()
		list, err := client.LineComments(t.Context(), name, "feature/a", "main")
		require.NoError(t, err)
		require.Len(t, list, want)
		return list
	}
	list := lines(2)
	if list[0].Body != "Why?" {
		list[0], list[1] = list[1], list[0]
	}
	require.Equal(t, []any{"cart.go", 3, at + "-ann", true}, []any{list[0].Path, list[0].Line, list[0].Author, list[0].Permission.MayWrite()})
	c := githost.NewComment{Repo: name, Number: pr.Number, Thread: list[0].ID, Key: "1/replies/1", Body: "So."}
	for range 2 {
		require.NoError(t, client.Comment(t.Context(), c))
	}
	last := lines(3)[2]
	require.Equal(t, []any{list[0].ID, true}, []any{last.ID, last.Own})
	var said []struct{ Resolver *struct{ Login string } }
	call(ann, "GET", in+fmt.Sprintf("/pulls/%d/reviews/%s/comments", pr.Number, reviewsOf(t, client, name)[0].ID), nil, &said)
	resolved := 0
	for _, k := range said {
		if k.Resolver != nil {
			resolved++
		}
	}
	require.Equal(t, 1, resolved)
	all := len(reviewsOf(t, client, name))
	c.Thread, c.Key, c.Body = "", "1/deploy.md", "It is deployed."
	for range 2 {
		require.NoError(t, client.Comment(t.Context(), c))
	}
	require.Len(t, reviewsOf(t, client, name), all+1)
}

func reviewsOf(t *testing.T, c *gitea.Client, repo string) []githost.Review {
	t.Helper()
	list, err := c.Reviews(t.Context(), repo, "feature/a", "main")
	require.NoError(t, err)
	return list
}
