package github_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
)

// A merge whose answer never comes is found, not made again.
func TestTimeOut(t *testing.T) {
	t.Parallel()
	k := setup(t)
	hurried := client(t, github.Options{BaseURL: k.URL, HTTPClient: forgekit.HTTP(100 * time.Millisecond)})
	var e *github.Error
	require.ErrorAs(t, forgekit.TimeOut(k.Kit, hurried, 6), &e) // the merge and the look at it, three times each
	require.Zero(t, e.Status)
}

// Webhooks are lost, doubled and overtake each other, and keep their ids.
func TestFaultsOfWebhooks(t *testing.T) {
	t.Parallel()
	forgekit.FaultsOfWebhooks(open(t), true)
	k := setup(t)
	got, ci := k.Webhooks(), forgekit.Kind(githost.HookCI, "")
	k.Server.SetFaults(fakehttp.Faults{HookReordered: 1})
	k.Server.SetStatus(repo, head40, "first", "success")
	k.Server.SetStatus(repo, head40, "second", "success")
	first, second := k.Next(got, ci).ID, k.Next(got, ci).ID
	require.Greater(t, first, second, "ids grow")
}

// A pull request ends with its branch.
func TestBranchGone(t *testing.T) {
	t.Parallel()
	k := setup(t)
	k.Commit("feature/a")
	k.Pull("feature/a")
	require.NoError(t, k.client.DeleteBranch(t.Context(), repo, "feature/a"))
	require.Eventually(t, func() bool { return !k.Server.Pulls()[0].Open }, 10*time.Second, time.Millisecond)
	require.False(t, k.Server.Pulls()[0].Merged)
}

// CI may call the server that calls it.
func TestCIAsksTheServer(t *testing.T) {
	t.Parallel()
	var k *kit
	ready := make(chan struct{})
	k = setup(t, forgetest.Options{CI: func(forgetest.Push) forgetest.Outcome {
		<-ready
		k.Server.Pulls()
		return forgetest.Outcome{Conclusion: "success"}
	}})
	head := k.Commit("feature/a")
	k.Pull("feature/a")
	close(ready)
	require.Eventually(t, func() bool {
		list, err := k.client.Checks(t.Context(), repo, "main", head)
		return err == nil && len(list) == 1 && list[0].State == githost.CheckPassed
	}, 10*time.Second, time.Millisecond)
}
