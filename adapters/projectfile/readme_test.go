package projectfile_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
)

// The registry that the README shows is one.
func TestReadme(t *testing.T) {
	body, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(body), "```yaml\n")
	require.True(t, found)
	text, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	r, err := projectfile.Parse("README.md", []byte(text))
	require.NoError(t, err)
	require.Len(t, r.Projects.All(), 1)
	require.Len(t, r.Projects.All()[0].Commands, 1)
	_, rest, found = strings.Cut(rest, "<<'END'\n")
	require.True(t, found, "the registry without any account")
	text, _, found = strings.Cut(rest, "END\n")
	require.True(t, found)
	r, err = projectfile.Parse("README.md", []byte(text))
	require.NoError(t, err)
	require.True(t, r.Projects.All()[0].Plain())
}

// What the page on prompts shows is part of an entry.
func TestPromptsPage(t *testing.T) {
	body, err := os.ReadFile("../../docs/prompts.md")
	require.NoError(t, err)
	parts := strings.Split(string(body), "```yaml\n")[1:]
	require.Len(t, parts, 3)
	for _, part := range parts {
		text, _, closed := strings.Cut(part, "```")
		require.True(t, closed)
		r, err := projectfile.Parse("prompts.md", []byte("projects:\n  - tracker_project: a\n    repo: acme/x\n    clone_url: u\n    prefix: X\n"+text))
		require.NoError(t, err, text)
		p := r.Projects.All()[0]
		require.True(t, len(p.Prompts) == 2 || p.Deploy.Staging != "" && p.Deploy.Production != "" || p.Hooks.Timeout == 3*time.Minute, text)
	}
}

// The registry that the page on credentials shows is one.
func TestCredentialsPage(t *testing.T) {
	body, err := os.ReadFile("../../docs/credentials.md")
	require.NoError(t, err)
	parts := strings.Split(string(body), "```yaml\n")
	require.Len(t, parts, 2)
	text, _, _ := strings.Cut(parts[1], "```")
	r, err := projectfile.Parse("credentials.md", []byte(text))
	require.NoError(t, err)
	require.Equal(t, []string{"DEPLOY_TOKEN", "GITHUB_TOKEN"}, []string{r.Projects.All()[0].Credential.Env, r.Projects.All()[1].Credential.Env})
}

// The registry that the page on egress shows is one.
func TestEgressPage(t *testing.T) {
	body, err := os.ReadFile("../../docs/egress.md")
	require.NoError(t, err)
	parts := strings.Split(string(body), "```yaml\n")
	require.Len(t, parts, 2)
	text, _, _ := strings.Cut(parts[1], "```")
	r, err := projectfile.Parse("egress.md", []byte(text))
	require.NoError(t, err)
	p := r.Projects.All()[0]
	require.Equal(t, []int{2, 0, 2}, []int{len(p.EgressOf("")), len(p.EgressOf("architect")), len(p.EgressOf("deployer"))})
}
