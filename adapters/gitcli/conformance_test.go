package gitcli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/work/worktest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	worktest.Run(t, func(t *testing.T) worktest.Fixture {
		t.Parallel()
		k := setup(t)
		s := serve(t, k.bare)
		k.space.CloneURL = s.url
		return worktest.Fixture{
			Spaces: k.g, Space: k.space,
			Agent: func(dir string, files map[string]string, commits bool) {
				for name, body := range files {
					write(t, dir, name, body)
				}
				if commits {
					run(t, dir, "add", "--all")
					run(t, dir, "commit", "--quiet", "-m", "change")
				}
			},
			Look: func(dir, name string) (string, bool) {
				body, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
				if err != nil {
					require.ErrorIs(t, err, os.ErrNotExist)
				}
				return string(body), err == nil
			},
			Push: func(from string, files map[string]string) string {
				at := "refs/heads/" + k.space.Branch
				if from == "" {
					from = run(t, k.bare, "rev-parse", at)
				}
				dir := t.TempDir()
				run(t, dir, "clone", "--quiet", "--no-checkout", k.bare, "clone")
				dir = filepath.Join(dir, "clone")
				run(t, dir, "checkout", "--quiet", "--detach", from)
				for name, body := range files {
					write(t, dir, name, body)
					run(t, dir, "add", "--all")
					run(t, dir, "commit", "--quiet", "--author=Ann Lee <ann@example.org>", "-m", "by hand")
				}
				run(t, dir, "push", "--quiet", "--force", "origin", "HEAD:"+at)
				return run(t, dir, "rev-parse", "HEAD")
			},
			MoveMain: func() { k.pushMain("main.go", "package main\n") },
			Remote: func(branch string) string {
				return run(t, k.bare, "for-each-ref", "--format=%(objectname)", "refs/heads/"+branch)
			},
			Mute: true,
			Fail: func(call string, how faulttest.Kind) {
				service := map[string]string{
					"Push": "git-receive-pack", "Drop": "git-receive-pack", "Begin": "git-upload-pack", "CatchUp": "git-upload-pack",
					"Adopt": "git-upload-pack",
				}
				s.set(service[call], map[faulttest.Kind]string{faulttest.Final: "403", faulttest.Passing: "503"}[how])
			},
		}
	})
}
