package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The documentation of this repository becomes pages, whose links lead somewhere: in what was
// written as well as in the source.
func TestSite(t *testing.T) {
	out := t.TempDir()
	n, err := build("../..", out)
	require.NoError(t, err)
	require.Greater(t, n, 30)
	attribute := regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	pages := map[string]string{}
	require.NoError(t, filepath.WalkDir(out, func(name string, _ os.DirEntry, err error) error {
		if filepath.Ext(name) == ".html" {
			body, failed := os.ReadFile(name)
			require.NoError(t, failed)
			pages[name] = string(body)
		}
		return err
	}))
	require.Len(t, pages, n)
	for name, body := range pages {
		require.Equal(t, 1, strings.Count(body, `aria-current="page"`), name)
		require.Contains(t, body, "<h1 id=", name)
		require.NotContains(t, body, "<!-- page: ", name)
		for _, m := range attribute.FindAllStringSubmatch(body, -1) {
			file, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			target := name
			if file != "" {
				target = filepath.Join(filepath.Dir(name), file)
			}
			require.FileExists(t, target, "%s: %s", name, m[1])
			if fragment != "" {
				require.Contains(t, body+pages[target], `id="`+fragment+`"`, "%s: %s", name, m[1])
			}
		}
	}
	index, err := os.ReadFile(filepath.Join(out, "index.js"))
	require.NoError(t, err)
	require.Contains(t, string(index), `"u":"docs/tutorial.html#your-own-repository-and-no-account"`)
}

// Links that lead nowhere are named, all of them, and nothing is written.
func TestBrokenLinks(t *testing.T) {
	root, out := t.TempDir(), filepath.Join(t.TempDir(), "site")
	for name, body := range map[string]string{
		"README.md": "<!-- page: tutorial 1 -->\n# Readme\n\n[a](docs/a.md#known-heading) [b](docs/none.md) [c](docs/a.md#unknown)\n", "ARCHITECTURE.md": "# A", "CHANGELOG.md": "# C", "CONTRIBUTING.md": "# D", "SECURITY.md": "# E",
		"docs/a.md": "<!-- page: guides 1 -->\n# A page\n\n## Known: `heading`!\n\n[up](../README.md) [out](../../etc) [mail](mailto:kim@example.org)\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(body), 0o600))
	}
	_, err := build(root, out)
	require.EqualError(t, err, "README.md: there is no docs/none.md\nREADME.md: docs/a.md has no heading #unknown\ndocs/a.md: there is no ../../etc")
	require.NoDirExists(t, out)
	require.NoError(t, os.WriteFile(filepath.Join(root, "docs/a.md"), []byte("<!-- page: novels 1 -->\n# A"), 0o600))
	_, err = build(root, out)
	require.EqualError(t, err, `docs/a.md:1: there is no part "novels", but tutorial, guides, reference, extending, why`)
}

// Code of Go in the documentation is part of a test that runs.
func TestGoInTheDocs(t *testing.T) {
	blank := regexp.MustCompile(`[ \t]+`)
	block := regexp.MustCompile("(?s)<!-- code: (\\S+) -->\\s*```go\n(.*?)```")
	for page, want := range map[string]int{"adapters.md": 1, "gates.md": 1} {
		body, err := os.ReadFile("../../docs/" + page)
		require.NoError(t, err)
		found := block.FindAllStringSubmatch(string(body), -1)
		require.Len(t, found, want)
		require.Equal(t, want, strings.Count(string(body), "```go\n"), page)
		for _, m := range found {
			source, err := os.ReadFile("../../" + m[1])
			require.NoError(t, err)
			require.Contains(t, blank.ReplaceAllString(string(source), ""), strings.TrimSpace(blank.ReplaceAllString(m[2], "")), m[1])
		}
	}
}
