package github_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
)

// lacking answers what emulate 0.11.2 does not have: statuses and rules, of which there are none.
type lacking struct{ http.RoundTripper }

func (l lacking) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/statuses") || strings.Contains(r.URL.Path, "/rules/branches/") {
		rec := httptest.NewRecorder()
		_, _ = rec.WriteString("[]")
		return rec.Result(), nil
	}
	return l.RoundTripper.RoundTrip(r)
}

// A pull request at a GitHub that others have written, npm's emulate, from its branch to the merge. make test-emulate installs it.
func TestEmulatedGitHub(t *testing.T) {
	at := os.Getenv("SIGNALBOX_EMULATE")
	if at == "" {
		t.Skip("SIGNALBOX_EMULATE names no directory with npm's emulate")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(free.Addr().String())
	require.NoError(t, err)
	require.NoError(t, free.Close())
	seed := filepath.Join(t.TempDir(), "seed.yaml")
	require.NoError(t, os.WriteFile(seed, []byte(`
tokens: {box: {login: box, scopes: [repo, user]}, kim: {login: kim, scopes: [repo, user]}}
github:
  users: [{login: box, name: Box, email: box@example.org}, {login: kim, name: Kim, email: kim@example.org}]
  repos: [{owner: kim, name: shop, auto_init: true}]
`), 0o600))
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(at, "node_modules/emulate/dist/index.js"), "start", "--service", "github", "--port", port, "--seed", seed)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_, _ = cmd.Process.Kill(), cmd.Wait()
		time.Sleep(2 * time.Second) // go-github leaves the timer of a request that was refused to its end
	})
	base := "http://127.0.0.1:" + port
	web := forgekit.HTTP(0)
	call := func(who, method, path string, in, out any) int {
		body, err := json.Marshal(in)
		require.NoError(t, err)
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, bytes.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+who)
		resp, err := web.Do(req)
		if err != nil {
			return 0
		}
		defer resp.Body.Close()
		if out != nil && resp.StatusCode/100 == 2 {
			require.NoError(t, json.NewDecoder(resp.Body).Decode(out))
		}
		return resp.StatusCode
	}
	require.Eventually(t, func() bool { return call("box", "GET", "/user", nil, nil) == http.StatusOK }, 30*time.Second, 100*time.Millisecond)
	type object = map[string]any
	made := func(who, method, path string, in, out any) {
		t.Helper()
		status := call(who, method, path, in, out)
		require.Equal(t, 2, status/100, "%s %s: %d", method, path, status)
	}
	const name, in = "kim/shop", "/repos/kim/shop"
	made("kim", "PUT", in+"/collaborators/box", object{"permission": "push"}, nil)
	var main struct{ Commit struct{ SHA string } }
	made("kim", "GET", in+"/branches/main", nil, &main)
	made("kim", "POST", in+"/git/refs", object{"ref": "refs/heads/feature/a", "sha": main.Commit.SHA}, nil)
	var file struct{ Commit struct{ SHA string } }
	cart := base64.StdEncoding.EncodeToString([]byte("one\ntwo\n"))
	made("kim", "PUT", in+"/contents/cart.go", object{"branch": "feature/a", "message": "m", "content": cart}, &file)
	head := file.Commit.SHA

	c := client(t, github.Options{BaseURL: base, Token: "box", HTTPClient: &http.Client{Timeout: time.Second, Transport: lacking{web.Transport}}})
	ctx := t.Context()
	require.NoError(t, c.Ping(ctx))
	n := githost.NewPullRequest{Repo: name, Head: "feature/a", Base: "main", Title: "T", Body: "B"}
	pr, err := c.OpenPullRequest(ctx, n)
	require.NoError(t, err)
	again, err := c.OpenPullRequest(ctx, n)
	require.NoError(t, err)
	require.Equal(t, pr.Number, again.Number)
	require.Equal(t, head, again.HeadSHA)

	made("kim", "POST", in+"/check-runs", object{"name": "unit", "head_sha": head, "status": "completed", "conclusion": "success"}, nil)
	made("kim", "POST", in+"/check-runs", object{"name": "build", "head_sha": head, "status": "completed", "conclusion": "failure"}, nil)
	list, err := c.Checks(ctx, name, "main", head)
	require.NoError(t, err)
	states := map[string]githost.CheckState{}
	for _, k := range list {
		states[k.Name] = k.State
	}
	require.Equal(t, map[string]githost.CheckState{"unit": githost.CheckPassed, "build": githost.CheckFailed}, states)

	said := object{"path": "cart.go", "line": 2, "side": "RIGHT", "body": "Why?", "commit_id": head}
	made("kim", "POST", in+fmt.Sprintf("/pulls/%d/comments", pr.Number), said, nil)
	made("kim", "POST", in+fmt.Sprintf("/pulls/%d/reviews", pr.Number), object{"event": "APPROVE", "body": "Fine.", "commit_id": head}, nil)
	reviews, err := c.Reviews(ctx, name, "feature/a", "main")
	require.NoError(t, err)
	require.Len(t, reviews, 1)
	require.Equal(t, []any{"kim", githost.ReviewApproved, true, head}, []any{reviews[0].Author, reviews[0].State, reviews[0].Permission.MayWrite(), reviews[0].SHA})
	lines, err := c.LineComments(ctx, name, "feature/a", "main")
	require.NoError(t, err)
	require.Len(t, lines, 1)
	require.Equal(t, []any{"cart.go", 2, "Why?"}, []any{lines[0].Path, lines[0].Line, lines[0].Body})
	for range 2 {
		require.NoError(t, c.Comment(ctx, githost.NewComment{Repo: name, Number: pr.Number, Key: "1/deploy.md", Body: "It is deployed."}))
	}
	var comments []struct{ Body string }
	made("kim", "GET", in+fmt.Sprintf("/issues/%d/comments", pr.Number), nil, &comments)
	require.Len(t, comments, 1)

	m := githost.Merge{Repo: name, Number: pr.Number, HeadSHA: main.Commit.SHA, Title: "T", Method: "squash"}
	_, err = c.Merge(ctx, m)
	require.ErrorIs(t, err, githost.ErrHeadMoved)
	m.HeadSHA = head
	sha, err := c.Merge(ctx, m)
	require.NoError(t, err)
	merged, err := c.PullRequest(ctx, name, "feature/a", "main")
	require.NoError(t, err)
	require.Equal(t, []any{true, sha}, []any{merged.Merged, merged.MergeSHA})
	require.NoError(t, c.DeleteBranch(ctx, name, "feature/a"))
	require.NoError(t, c.DeleteBranch(ctx, name, "feature/a"))
}
