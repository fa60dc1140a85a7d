package gitcli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// branchWithSettings is a branch whose developer has brought settings for agents of its
// own, and a main that has some: what a reviewer opens.
func branchWithSettings(t *testing.T, fromMain []string) (k *kit, dir, head string) {
	k = setup(t)
	k.pushMain("CLAUDE.md", "main's\n")
	k.pushMain(".github/copilot-instructions.md", "main's\n")
	k.pushMain("sub dir/[x]/AGENTS.md", "main's\n")
	k.pushMain("lib/CLAUDE.md", "main's\n")
	k.pushMain("lib/lib.go", "package lib\n")
	dir = k.open()
	for _, name := range []string{".claude/settings.json", ".mcp.json", "deep/er/.cursor/rules", "CLAUDE.md", "src/main.go"} {
		write(t, dir, name, "the branch's\n")
	}
	for _, name := range []string{".github/copilot-instructions.md", "sub dir", "lib"} {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, name)))
	}
	require.NoError(t, os.Symlink("CLAUDE.md", filepath.Join(dir, "AGENTS.md")))
	require.NoError(t, os.Symlink("src", filepath.Join(dir, "lib"))) // main has a directory there
	run(t, dir, "add", "--all")
	run(t, dir, "commit", "--quiet", "-m", "mine")
	head = k.take().SHA
	k.pushMain(".gemini/settings.json", "main's newest\n")
	k.space.Role, k.space.FromMain = stage.Reviewer, fromMain
	return k, k.open(), head
}

// Roles that judge find the settings of agents as main has them; git sees no difference,
// and nothing of it is committed or kept.
func TestSettingsOfMain(t *testing.T) {
	t.Parallel()
	k, dir, head := branchWithSettings(t, stage.Launch{Role: stage.Reviewer}.FromMain())
	is := func(name, want string) {
		t.Helper()
		body, err := os.ReadFile(filepath.Join(dir, name))
		if want == "" {
			_, err := os.Lstat(filepath.Join(dir, name))
			require.ErrorIs(t, err, os.ErrNotExist, name)
			return
		}
		require.NoError(t, err)
		require.Equal(t, want, string(body), name)
	}
	as := func() {
		t.Helper()
		is("CLAUDE.md", "main's\n")
		is(".github/copilot-instructions.md", "main's\n")
		is("sub dir/[x]/AGENTS.md", "main's\n")
		is(".gemini/settings.json", "main's newest\n")
		for _, name := range []string{".claude/settings.json", ".claude", ".mcp.json", "deep/er/.cursor/rules", "AGENTS.md", "src/CLAUDE.md"} {
			is(name, "")
		}
		is("src/main.go", "the branch's\n")
		require.Equal(t, "the branch's", run(t, dir, "show", "HEAD:.mcp.json"), "it can be read, and judged")
		require.Empty(t, run(t, dir, "status", "--porcelain"))
		require.Equal(t, head, run(t, dir, "rev-parse", "HEAD"))
	}
	as()
	run(t, dir, "add", "--all")
	run(t, dir, "commit", "--quiet", "--allow-empty", "--all", "-m", "nothing")
	require.Empty(t, run(t, dir, "diff", "--name-only", "HEAD~1", "HEAD"))
	write(t, dir, "docs/work/APP-1/questions.md", "why?\n")
	run(t, dir, "add", "--all")
	run(t, dir, "commit", "--quiet", "-m", "questions")
	require.Equal(t, "docs/work/APP-1/questions.md", run(t, dir, "diff", "--name-only", head, "HEAD"))
	head = k.take().SHA

	at := k.reopen()
	require.Empty(t, at.Left, "main's files are nobody's work")
	as()
	write(t, dir, "note.txt", "half a thought")
	write(t, dir, "CLAUDE.md", "changed")
	at = k.reopen()
	require.Equal(t, "half a thought", run(t, k.mirror(), "show", at.Left.SHA+":note.txt"))
	require.Equal(t, "CLAUDE.md", run(t, k.mirror(), "diff", "--name-only", head, at.Left.SHA, "--", "CLAUDE.md", ".claude", ".gemini", "sub dir"))
	as()

	k.space.Role, k.space.FromMain = stage.Developer, nil
	at = k.reopen()
	require.Empty(t, at.Left)
	is("CLAUDE.md", "the branch's\n")
	is(".mcp.json", "the branch's\n")
	is(".gemini/settings.json", "")
}

// Without patterns everything is the branch's.
func TestSettingsOfTheBranch(t *testing.T) {
	t.Parallel()
	_, dir, _ := branchWithSettings(t, nil)
	body, err := os.ReadFile(filepath.Join(dir, "CLAUDE.md"))
	require.NoError(t, err)
	require.Equal(t, "the branch's\n", string(body))
	require.FileExists(t, filepath.Join(dir, ".claude", "settings.json"))
}
