package projectfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// What the pages on the registry and on agents show is one, or a part of an entry.
func TestDocumentedRegistry(t *testing.T) {
	t.Setenv("FORGE_TOKEN", "a")
	var shown []task.Project
	dir := t.TempDir()
	for page, blocks := range map[string]int{"registry": 10, "agents": 1} {
		body, err := os.ReadFile("../../docs/" + page + ".md")
		require.NoError(t, err)
		parts := strings.Split(string(body), "```yaml\n")[1:]
		require.Len(t, parts, blocks, page)
		for _, part := range parts {
			text, _, closed := strings.Cut(part, "```")
			require.True(t, closed)
			if strings.HasPrefix(text, "stages:") {
				require.NoError(t, os.WriteFile(filepath.Join(dir, projectfile.PipelineName), []byte(text), 0o600))
				continue
			}
			if strings.HasPrefix(text, "    ") {
				text = "projects:\n  - tracker_project: a\n    repo: acme/x\n    clone_url: u\n    prefix: X\n" + text
			}
			name := page + ".md"
			if strings.Contains(text, "    pipeline:") { // beside the stages before it
				name = filepath.Join(dir, name)
			}
			r, err := projectfile.Parse(name, []byte(text))
			require.NoError(t, err, text)
			shown = append(shown, r.Projects.All()...)
		}
	}
	for what, is := range map[string]func(task.Project) bool{
		"lanes":     func(p task.Project) bool { return p.Lanes.Of([]string{"Bug"}) == "fix" && p.Lanes.Of(nil) == "" },
		"commands":  func(p task.Project) bool { return len(p.Commands) == 1 },
		"no host":   task.Project.Plain,
		"prompts":   func(p task.Project) bool { return len(p.Prompts) == 2 },
		"recipes":   func(p task.Project) bool { return p.Deploy.Staging != "" && p.Deploy.Production != "" },
		"hooks":     func(p task.Project) bool { return p.Hooks.Timeout == 3*time.Minute },
		"a command": func(p task.Project) bool { return p.Credential.Env == "DEPLOY_TOKEN" },
		"an app":    func(p task.Project) bool { return p.Credential.Env == "GITHUB_TOKEN" },
		"hosts by role": func(p task.Project) bool {
			return len(p.EgressOf("")) == 2 && len(p.EgressOf("architect")) == 0 && len(p.EgressOf("deployer")) == 2
		},
	} {
		found := false
		for _, p := range shown {
			found = found || is(p)
		}
		require.True(t, found, what)
	}
}
