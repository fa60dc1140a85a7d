package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// A card goes to Done with the agent that docs/agents.md shows, which is read in a minute.
func TestAgentOfYourOwn(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	script, err := filepath.Abs("../agent.sh")
	require.NoError(t, err)
	body, err := os.ReadFile(script)
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(body), "\n"), 40)
	said, ok := n.do("init", "--listen", n.addr, "--ci", "true", "--agent", script)
	require.True(t, ok, said)
	require.Contains(t, said, "its agent was one that costs nothing; cards get "+script+": signalbox doctor --probe lets that run once\n")
	said, ok = n.do("doctor", "--probe")
	require.True(t, ok, said)
	require.Contains(t, said, "agent "+script+" has run, as it will for cards\n")
	serve, log := n.command("serve")
	require.NoError(t, serve.Start())
	defer func() {
		require.NoError(t, serve.Process.Signal(syscall.SIGTERM))
		require.NoError(t, serve.Wait(), log)
	}()
	n.until("the server gets ready", func() bool {
		var into any
		return n.get("/readyz", &into)
	})
	kim, desk := n.sign(), n.desk()
	id := kim.begin("app", "My first card")
	n.until("the analyst finishes", func() bool { return story(t, desk, id).Column == string(stage.StatusInReview) })
	kim.submit("board/cards/"+id+"/move", url.Values{"column": {"approved"}})
	n.until("it is done", func() bool { return story(t, desk, id).Column == string(stage.StatusDone) && !owed(n.task(id)) })
	require.Contains(t, n.git(n.bare(), "show", "trunk:work/APP-1.md"), "nobody has thought about them yet")
	require.Len(t, n.task(id).Runs, 7, "none was tried again")
}
