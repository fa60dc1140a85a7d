package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var vendor = regexp.MustCompile(`(?i)plane|gitea|forgejo|github|telegram|slack|claude|codex|gemini|opencode`)

// What examines and rehearses a deployment, and begins one, names no program that a deployment may have beside it: all that is
// said of one alone is in the registries of kinds or in an adapter.
func TestNoVendors(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../app/doctor*.go", "../app/rehears*.go", "../setup/*.go", "../../examples/server/command/*.go"} {
		list, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, list...)
	}
	files = slices.DeleteFunc(files, func(name string) bool {
		return strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "setup/kinds.go")
	})
	require.Greater(t, len(files), 20)
	for _, name := range files {
		require.Empty(t, vendorsIn(t, name, nil), name)
	}
	planted := "package x\n\nimport _ \"github.com/" + "signalbox-dev/signalbox/tracker\"\n\nvar s = \"ORCH_PLANE_URL\" + task.HostGitHub\n"
	require.Equal(t, []string{`"ORCH_PLANE_URL"`, "HostGitHub"}, vendorsIn(t, "x.go", planted))
}

// vendorsIn lists the identifiers and strings of a file that name one; imports of what all adapters share may.
func vendorsIn(t *testing.T, name string, body any) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, body, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		text := ""
		switch n := n.(type) {
		case *ast.ImportSpec:
			text, _ = strings.CutPrefix(strings.Trim(n.Path.Value, `"`), "github.com/")
		case *ast.BasicLit:
			text = n.Value
		case *ast.Ident:
			text = n.Name
		}
		if vendor.MatchString(text) {
			found = append(found, text)
		}
		_, isImport := n.(*ast.ImportSpec)
		return !isImport
	})
	return found
}
