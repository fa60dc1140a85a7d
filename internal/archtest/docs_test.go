package archtest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	fence    = regexp.MustCompile("(?ms)^ *```.*?^ *```$|`[^`\n]*`")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	unusual  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	pointer  = regexp.MustCompile(`\b(?:docs/[a-z0-9-]+|README|ARCHITECTURE|CONTRIBUTING|SECURITY|CHANGELOG)\.md(?:#[a-z0-9-]+)?`)
	code     = regexp.MustCompile("(?s)<!-- code: (\\S+) -->\\s*```go\n(.*?)```")
	testName = regexp.MustCompile(`\bTest[A-Z]\w*`)
)

// walk hands over the text of every file of the repository of one of these kinds.
func walk(t *testing.T, visit func(name, text string), kinds ...string) {
	t.Helper()
	root := os.DirFS("../..")
	require.NoError(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		for _, kind := range kinds {
			if strings.HasSuffix(name, kind) {
				body, err := fs.ReadFile(root, name)
				if err == nil {
					visit(name, string(body))
				}
				return err
			}
		}
		return nil
	}))
}

// anchors are the ids that a forge gives the headings of a page.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		out[strings.ReplaceAll(unusual.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return out
}

// leads reports whether a link of a page leads to a file, and to one of its headings where it names one.
func leads(from, to string) bool {
	file, fragment, _ := strings.Cut(to, "#")
	name := from
	if file != "" {
		name = path.Join(path.Dir(from), file)
	}
	at := filepath.Join("../..", filepath.FromSlash(name))
	if _, err := os.Stat(at); err != nil || strings.HasPrefix(name, "..") {
		return false
	}
	if fragment == "" {
		return true
	}
	body, err := os.ReadFile(at)
	return err == nil && anchors(string(body))[fragment]
}

// Each link between pages leads somewhere, and each page and section that the program or its
// packaging names exists.
func TestPointersLeadSomewhere(t *testing.T) {
	links := 0
	walk(t, func(name, text string) {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			links++
			if !leads(name, m[1]) {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
	}, ".md")
	require.Greater(t, links, 50)
	pointers := 0
	walk(t, func(name, text string) {
		if strings.HasSuffix(name, "_test.go") { // which write pages of their own
			return
		}
		for _, to := range pointer.FindAllString(text, -1) {
			pointers++
			if !leads("README.md", to) {
				t.Errorf("%s names %s, which is not there", name, to)
			}
		}
	}, ".go", ".yaml", ".yml", ".json", ".service", ".env", ".sh", ".ts", ".mjs", "Makefile", "Dockerfile")
	require.Greater(t, pointers, 10)
}

// A link to a page, a heading or a file that does not exist is none.
func TestLeads(t *testing.T) {
	for to, want := range map[string]bool{
		"docs/gates.md": true, "docs/gates.md#fixtures": true, "docs": true, "#limits": true,
		"docs/none.md": false, "docs/gates.md#none": false, "../etc": false, "#none": false,
	} {
		require.Equal(t, want, leads("README.md", to), to)
	}
}

// Code that a page takes from a file is there, line by line, and tests that a page names exist.
func TestPagesShowWhatIs(t *testing.T) {
	var tests strings.Builder
	walk(t, func(_, text string) { tests.WriteString(text) }, "_test.go")
	shown := 0
	walk(t, func(name, text string) {
		for _, m := range code.FindAllStringSubmatch(text, -1) {
			shown++
			body, err := os.ReadFile(filepath.Join("../..", m[1]))
			require.NoError(t, err)
			require.True(t, strings.Contains(flat(string(body)), flat(m[2])), "%s shows other code than %s has", name, m[1])
		}
		for _, test := range testName.FindAllString(text, -1) {
			if test != "TestMyGate" && !strings.Contains(tests.String(), "func "+test+"(") {
				t.Errorf("%s names %s, which is not there", name, test)
			}
		}
	}, ".md")
	require.Equal(t, 3, shown)
}

// flat is a text whose lines are not indented.
func flat(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}
