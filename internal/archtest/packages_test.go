package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docLines is how long the doc of a package may be: what it is for, on one screen. The rest belongs to the types that it is about.
const docLines = 30

// shownPackage holds what a reader of a public package finds first.
type shownPackage struct {
	doc int // lines
}

// Each package that others import says what it is for on one screen.
func TestPackagesShowThemselves(t *testing.T) {
	packages, err := show(os.DirFS("../.."))
	require.NoError(t, err)
	require.Greater(t, len(packages), 60)
	for name, p := range packages {
		switch {
		case p.doc == 0:
			t.Errorf("%s has no package doc", name)
		case p.doc > docLines:
			t.Errorf("%s: its package doc has %d lines, and %d are the most: move what is about a type there", name, p.doc, docLines)
		}
	}
}

// show reads the packages that another module can import, but for those below examples.
func show(root fs.FS) (map[string]*shownPackage, error) {
	out := map[string]*shownPackage{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			for _, other := range []string{"examples", "internal", "testdata", "node_modules", "bench"} {
				if d.Name() == other {
					return fs.SkipDir
				}
			}
			if name != "." && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		body, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, body, parser.ParseComments)
		if err != nil || file.Name.Name == "main" {
			return err
		}
		p := out[path.Dir(name)]
		if p == nil {
			p = &shownPackage{}
			out[path.Dir(name)] = p
		}
		if file.Doc != nil {
			p.doc = max(p.doc, strings.Count(file.Doc.Text(), "\n"))
		}
		return nil
	})
	return out, err
}
