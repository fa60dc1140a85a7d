package agentcli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// versionTime bounds the call of a tool for its version.
const versionTime = 15 * time.Second

// Version returns the version that a tool which is known here reports; empty for other
// commands, and in a container, whose image has another one. The tool sees no key.
func (r *Runner) Version(ctx context.Context, agent string) (string, error) {
	p, _, err := r.preset(agent)
	if err != nil {
		return "", fmt.Errorf("agentcli: %w", err)
	}
	if _, known := builtin(filepath.Base(p.Argv[0])); !known || r.inContainer() {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Argv[0], "--version")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	said, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	said = strings.ToValidUTF8(said[:min(len(said), 200)], "")
	if err != nil {
		return "", fmt.Errorf("agentcli: %s --version: %w: %s", p.Argv[0], err, r.opt.Hidden.Text(said))
	}
	return said, nil
}
