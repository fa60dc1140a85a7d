package gitea_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/hosttest"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token  = forgekit.Token
	secret = forgekit.Secret
	repo   = forgekit.Repo
	below  = forgetest.Prefix + "/repos/{owner}/{repo}"
)

type kit struct {
	*forgekit.Kit
	client *gitea.Client
}

func setup(t testing.TB, o ...forgetest.Options) *kit {
	t.Helper()
	k := &kit{Kit: forgekit.New(t, "gitea", append(o, forgetest.Options{})[0])}
	k.client = client(t, gitea.Options{BaseURL: k.URL, Secrets: signature.Of(secret), Now: k.Now, HTTPClient: forgekit.HTTP(time.Minute)})
	k.Client = k.client
	return k
}

// merge merges a pull request.
func (k *kit) merge(m githost.Merge) (string, error) { return k.client.Merge(k.Context(), m) }

// open makes a kit without options.
func open(t *testing.T) *forgekit.Kit {
	t.Helper()
	return setup(t).Kit
}

// client makes a client with the token of a kit, unless there is another.
func client(t testing.TB, o gitea.Options) *gitea.Client {
	t.Helper()
	o.Token = cmp.Or(o.Token, token)
	c, err := gitea.New(o)
	require.NoError(t, err)
	return c
}

func TestConformance(t *testing.T) {
	hosttest.Run(t, func(t *testing.T) hosttest.Fixture {
		k := setup(t)
		// A conflict looks like what has yet to be compared: time decides.
		k.Client = client(t, gitea.Options{BaseURL: k.URL, HTTPClient: forgekit.HTTP(5 * time.Second), Comparing: -1})
		f := k.Fixture(map[string]string{
			"OpenPullRequest": "POST " + below + "/pulls", "Merge": "POST " + below + "/pulls/{number}/merge", "DeleteBranch": "DELETE " + below + "/branches/{branch...}",
		})
		f.Statuses = true
		f.SetChecks = func(sha string, checks ...githost.Check) {
			for _, c := range checks {
				k.Server.SetStatus(repo, sha, c.Name, "pending")
				k.Server.SetStatus(repo, sha, c.Name, map[githost.CheckState]string{githost.CheckPassed: "skipped", githost.CheckFailed: "error", githost.CheckPending: "pending"}[c.State])
			}
		}
		f.Require = func(base string, names ...string) {
			k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Required[base] = names })
		}
		comment := f.AddLineComment
		f.AddLineComment = func(branch string, c githost.LineComment) {
			k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Admin = true }) // else it is not shown who may write
			comment(branch, c)
		}
		return f
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	forgekit.Faults(t, open, fakehttp.TooMany)
}

func TestDenied(t *testing.T) {
	t.Parallel()
	k := setup(t)
	forgekit.Denied(k.Kit, client(t, gitea.Options{BaseURL: k.URL + "/api/v1/", Token: "wrong", HTTPClient: forgekit.HTTP(0)}))
	for _, bad := range []string{"../../../../user", "", "main"} {
		_, err := k.client.Checks(t.Context(), repo, "main", bad)
		require.ErrorIs(t, err, githost.ErrNotFound)
	}
	for _, bad := range []string{"../../../issues/1", ""} {
		require.Error(t, k.client.DeleteBranch(t.Context(), repo, bad))
	}
	require.ErrorIs(t, k.client.DeleteBranch(t.Context(), repo, "main"), githost.ErrDenied)
	k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Archived = true })
	_, err := k.client.OpenPullRequest(t.Context(), asked)
	require.ErrorIs(t, err, githost.ErrDenied)
}

func TestNewRefuses(t *testing.T) {
	_, err := gitea.New(gitea.Options{BaseURL: "https://git.example.org"})
	require.ErrorContains(t, err, "Token is missing")
	for _, bad := range []string{"", "example.org", "ftp://example.org", "https://kim:pw@example.org"} {
		_, err = gitea.New(gitea.Options{Token: "t", BaseURL: bad})
		require.ErrorContains(t, err, "BaseURL", bad)
	}
}
