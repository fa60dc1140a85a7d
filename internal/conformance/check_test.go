package conformance

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// check returns what is wrong with the rows: test functions that the module at root does not have, and rows
// without one.
func check(root fs.FS, parts []part) error {
	there, err := functions(root, parts)
	errs := []error{err}
	for _, p := range parts {
		for _, w := range p.rows {
			for _, t := range w.tests {
				pkg, name, _ := strings.Cut(t, " ")
				if spec, title, pages := ofPages(t); pages {
					if body, err := fs.ReadFile(root, path.Join(pkg, "tests", spec)); err != nil || !strings.Contains(string(body), "test('"+title) {
						errs = append(errs, fmt.Errorf("row %s: there is no %q in %s", w.id, title, spec))
					}
				} else if function, _, _ := strings.Cut(name, "/"); !there[pkg+" "+function] {
					errs = append(errs, fmt.Errorf("row %s: there is no %s in %s", w.id, function, pkg))
				}
			}
			if len(w.tests) == 0 {
				errs = append(errs, fmt.Errorf("row %s: no test drives it", w.id))
			}
		}
	}
	return errors.Join(errs...)
}

// functions are the test functions of the packages that rows name.
func functions(root fs.FS, parts []part) (map[string]bool, error) {
	out := map[string]bool{}
	for pkg := range byPackage(parts) {
		files, err := fs.Glob(root, path.Join(pkg, "*_test.go"))
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			body, err := fs.ReadFile(root, name)
			if err != nil {
				return nil, err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), name, body, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, d := range parsed.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
					out[pkg+" "+f.Name.Name] = true
				}
			}
		}
	}
	return out, nil
}
