package gitcli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Whatever git can commit is a change of its path: no rename, link, mode, submodule,
// merge, rewritten branch or commit that is undone hides one, and none invents one.
func TestChangesOutside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(t *testing.T, k *kit, dir string)
		want []string // nil = it is taken
	}{
		"a rename into the set": {func(t *testing.T, _ *kit, dir string) {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "mine"), 0o755))
			run(t, dir, "mv", "README.md", "mine/README.md")
		}, []string{"README.md"}},
		"a mode": {func(t *testing.T, _ *kit, dir string) {
			require.NoError(t, os.Chmod(filepath.Join(dir, "README.md"), 0o644))
		}, []string{"README.md"}},
		"a link in the set": {func(t *testing.T, _ *kit, dir string) {
			require.NoError(t, os.Symlink("../README.md", filepath.Join(dir, "mine")))
		}, nil},
		"a link in a file's place": {func(t *testing.T, _ *kit, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "README.md")))
			require.NoError(t, os.Symlink("mine", filepath.Join(dir, "README.md")))
		}, []string{"README.md"}},
		"another case": {func(t *testing.T, _ *kit, dir string) { write(t, dir, "Mine/a", "a") }, []string{"Mine/a"}},
		"a submodule": {func(t *testing.T, _ *kit, dir string) {
			run(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+run(t, dir, "rev-parse", "HEAD")+",sub")
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
			run(t, dir, "commit", "--quiet", "-m", "sub")
		}, []string{"sub"}},
		"what is undone again": {func(t *testing.T, _ *kit, dir string) {
			commit(t, dir, "README.md", "evil")
			run(t, dir, "checkout", "--quiet", "HEAD~1", "--", "README.md")
		}, nil},
		"a rewritten branch": {func(t *testing.T, _ *kit, dir string) {
			run(t, dir, "checkout", "--quiet", "--orphan", "new")
			run(t, dir, "rm", "--quiet", "-r", "--cached", "docs")
			run(t, dir, "commit", "--quiet", "-m", "all anew")
			run(t, dir, "branch", "--force", "feature/APP-1-cache")
			run(t, dir, "clean", "--force", "-d", "--quiet")
			run(t, dir, "checkout", "--quiet", "feature/APP-1-cache")
		}, []string{"docs/work/APP-1/request.md"}},
		"main that has moved": {func(t *testing.T, k *kit, dir string) {
			k.pushMain("src/main.go", "package main")
			run(t, dir, "pull", "--quiet", "--no-rebase", "--no-edit", k.bare, "main")
		}, []string{"src/main.go"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := setup(t)
			k.space.Writes = stage.Paths{Allow: []string{"mine"}}
			dir := k.open()
			c.do(t, k, dir)
			if run(t, dir, "status", "--porcelain") != "" {
				run(t, dir, "add", "--all")
				run(t, dir, "commit", "--quiet", "--allow-empty", "-m", "change")
			}
			head := run(t, dir, "rev-parse", "HEAD")
			tip, err := k.g.Take(t.Context(), k.space)
			if c.want == nil {
				require.NoError(t, err)
				require.Equal(t, head, tip.SHA)
				return
			}
			var outside *work.OutsideError
			require.ErrorAs(t, err, &outside)
			require.Equal(t, c.want, outside.Paths)
			require.Equal(t, head, run(t, k.mirror(), "rev-parse", outside.Left.SHA+"^"))
			require.Empty(t, k.reopen().Left)
			require.NotEqual(t, head, run(t, dir, "rev-parse", "HEAD"))
			require.Empty(t, run(t, dir, "status", "--porcelain"))
		})
	}
}

// An agent keeps no CI from running: its next attempt has the work, and rewords it. Commits of main may.
func TestMessagesThatSkipCI(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	commit(t, dir, "a.go", "package a")
	for _, message := range []string{"x [skip ci]", "[CI-SKIP]", "[no ci]", "[actions skip]", "x\n\n\nskip-checks:true", "***NO_CI***"} {
		run(t, dir, "commit", "--quiet", "--amend", "--message", message)
		_, err := k.g.Take(t.Context(), k.space)
		require.ErrorContains(t, err, "keeps CI from running, as [skip ci] does: reword it", message)
	}
	run(t, dir, "update-ref", "HEAD", run(t, dir, "commit-tree", "HEAD^{tree}", "-m", "of nothing"))
	_, err := k.g.Take(t.Context(), k.space)
	require.ErrorContains(t, err, "has no history with main: rebase it onto origin/main")
	run(t, dir, "reset", "--quiet", "HEAD@{1}")
	k.pushMain("[skip ci]", "x")
	require.Empty(t, k.reopen().Left)
	run(t, dir, "commit", "--quiet", "--amend", "--message", "skip ci [skip]")
	run(t, dir, "merge", "--quiet", "--no-edit", "origin/main")
	require.Equal(t, run(t, dir, "rev-parse", "HEAD"), k.take().SHA)
	require.FileExists(t, filepath.Join(dir, "a.go"))
}
