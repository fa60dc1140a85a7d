package gitcli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Add implements work.Mirror.
func (g *Git) Add(ctx context.Context, s work.Workspace, files []work.File, message string) (work.Tip, error) {
	p, err := g.locate(s)
	if err != nil {
		return work.Tip{}, err
	}
	if err := g.addLocked(ctx, p, files, message); err != nil {
		return work.Tip{}, err
	}
	tip, err := g.tip(ctx, p)
	if err != nil {
		return tip, err
	}
	return tip, g.handOver(ctx, p, tip.SHA)
}

func (g *Git) addLocked(ctx context.Context, p checkout, files []work.File, message string) error {
	defer g.lock(p.dir)()
	defer g.lockMirror(ctx, p)()
	if err := g.fetchHandover(ctx, p); err != nil {
		return err
	}
	before, err := g.ref(ctx, p.mirror, "refs/heads/"+p.Branch)
	if err == nil && before == "" {
		err = errors.New("gitcli: " + p.Repo + " has no branch " + p.Branch + " in the mirror")
	}
	if err != nil {
		return err
	}
	tip, err := g.commitFiles(ctx, p, before, files, message)
	if err != nil {
		return err
	}
	out, err := g.git(ctx, p.mirror, "rev-parse", "--verify", tip+"^{tree}")
	if err != nil {
		return err
	}
	if there, err := g.git(ctx, p.mirror, "rev-parse", "--verify", before+"^{tree}"); err != nil || there == out {
		return err // it has them
	}
	if _, err := g.git(ctx, p.mirror, "update-ref", "refs/heads/"+p.Branch, tip, before); err != nil {
		return err
	}
	return p.passBy(tip)
}

// commitFiles makes a commit of the mirror that has files on top of base's.
func (g *Git) commitFiles(ctx context.Context, p checkout, base string, files []work.File, message string) (string, error) {
	temp, err := os.MkdirTemp(g.opt.Root, "index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp) // a temporary index; what is left of it harms nobody
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(temp, "index")}
	if _, err := g.run(ctx, call{repo: p.mirror, env: env, args: []string{"read-tree", base}}); err != nil {
		return "", err
	}
	for _, f := range files {
		if err := g.stage(ctx, p, env, f); err != nil {
			return "", err
		}
	}
	out, err := g.run(ctx, call{repo: p.mirror, env: env, args: []string{"write-tree"}})
	if err != nil {
		return "", err
	}
	commit := []string{"commit-tree", strings.TrimSpace(out), "-p", base, "-F", "-"}
	out, err = g.run(ctx, call{repo: p.mirror, stdin: message + "\n", args: commit})
	return strings.TrimSpace(out), err
}
