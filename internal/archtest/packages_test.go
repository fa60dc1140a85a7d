package archtest

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// docLines is how long the doc of a package may be: what it is for, on one screen. The rest belongs to the types that it is about.
const docLines = 30

// shownPackage holds what a reader of a public package finds first.
type shownPackage struct {
	doc      int // lines
	runnable int // examples whose output is checked
}

// Each package that others import says what it is for on one screen, and shows its main use by an example that runs.
// Doubles and suites show theirs by being used.
func TestPackagesShowThemselves(t *testing.T) {
	packages, err := show(os.DirFS("../.."))
	require.NoError(t, err)
	require.Greater(t, len(packages), 60)
	for name, p := range packages {
		base := path.Base(name)
		double := strings.HasPrefix(base, "mem") || strings.HasSuffix(base, "test")
		switch {
		case p.doc == 0:
			t.Errorf("%s has no package doc", name)
		case p.doc > docLines:
			t.Errorf("%s: its package doc has %d lines, and %d are the most: move what is about a type there", name, p.doc, docLines)
		case p.runnable == 0 && !double:
			t.Errorf("%s has no example with an output that is checked", name)
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
		if !strings.HasSuffix(name, ".go") {
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
		if strings.HasSuffix(name, "_test.go") {
			p.runnable += countRunnable(file)
		} else if file.Doc != nil {
			p.doc = max(p.doc, strings.Count(file.Doc.Text(), "\n"))
		}
		return nil
	})
	return out, err
}

// countRunnable counts the examples that go test runs.
func countRunnable(file *ast.File) (n int) {
	for _, decl := range file.Decls {
		f, is := decl.(*ast.FuncDecl)
		if !is || !strings.HasPrefix(f.Name.Name, "Example") {
			continue
		}
		for _, c := range file.Comments {
			if c.Pos() > f.Pos() && c.End() < f.End() && strings.HasPrefix(strings.ToLower(strings.TrimSpace(c.Text())), "output:") {
				n++
			}
		}
	}
	return n
}

// programLines bounds an example that a page calls a program: imports and all, as pkg.go.dev prints it.
const programLines = 40

// What can be imported alone is shown by an example of the package that is a whole program.
func TestExamplesAreWholePrograms(t *testing.T) {
	for _, dir := range []string{"gates", "queue", "orchestrator/stage", "gpstracks/trackhttp"} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, filepath.Join("../..", dir, "example_test.go"), nil, parser.ParseComments)
		require.NoError(t, err)
		found := slices.IndexFunc(doc.Examples(file), func(e *doc.Example) bool { return e.Name == "" })
		require.GreaterOrEqual(t, found, 0, "%s has no example of the package", dir)
		e := doc.Examples(file)[found]
		require.NotNil(t, e.Play, "%s: its example needs what is beside it", dir)
		require.NotEmpty(t, e.Output, dir)
		var program bytes.Buffer
		require.NoError(t, format.Node(&program, fset, e.Play))
		require.LessOrEqual(t, bytes.Count(program.Bytes(), []byte("\n")), programLines, "%s:\n%s", dir, program.String())
	}
}

// A doc is counted line by line, and an example without an output is only compiled.
func TestShow(t *testing.T) {
	files := fstest.MapFS{
		"queue/x.go":          {Data: []byte("// Package queue\n// is short.\npackage queue\n")},
		"queue/x_test.go":     {Data: []byte("package queue_test\n\nfunc Example() {\n\t// Output: 1\n}\n\nfunc ExampleX() {\n\t// said\n}\n\nfunc TestX() {}\n")},
		"internal/x/x.go":     {Data: []byte("package x\n")},
		"examples/x/x.go":     {Data: []byte("package x\n")},
		"queue/testdata/x.go": {Data: []byte("package x\n")},
		"queue/cmd/main.go":   {Data: []byte("package main\n")},
	}
	got, err := show(files)
	require.NoError(t, err)
	require.Equal(t, map[string]*shownPackage{"queue": {doc: 2, runnable: 1}}, got)
}
