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

const head = `# Conformance

Each row is a sentence of the specification, in short words, with the section that has it
and the tests that drive it from outside: signed webhooks, HTTP, the board and git go in;
the board, comments, git, the chat, HTTP and the database are looked at. Tests of
examples/server drive the server as a process, with real git; those of orchestrator drive
the whole engine over a board, a host and a chat in memory; those of an adapter drive what
the sentence says of a file, a table, a lease or a wire.

` + "`make conformance`" + ` runs exactly these tests and prints the rows with what came of them. A row
without a test, a name under which nothing ran and a failed or skipped test make it fail.
The track layer has documents of its own ([gps.md](gps.md), [map.md](map.md)); its map client is
driven in a real browser by ` + "`make test-browser`" + `.

This page is written by ` + "`go test ./internal/conformance -write`" + `.

| part | rows |
|---|---|
`

// render writes the document; it fails when a row names a test function that the
// module at root does not have.
func render(root fs.FS, parts []part) (string, error) {
	where, err := sources(root, parts)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(head)
	rows := 0
	for _, p := range parts {
		fmt.Fprintf(&b, "| %s | %d |\n", p.name, len(p.rows))
		rows += len(p.rows)
	}
	fmt.Fprintf(&b, "| all | %d |\n", rows)
	var errs []error
	for _, p := range parts {
		fmt.Fprintf(&b, "\n## %s\n\n| row | what it says | section | driven by |\n|---|---|---|---|\n", p.name)
		for _, w := range p.rows {
			var links []string
			for _, t := range w.tests {
				pkg, name, _ := strings.Cut(t, " ")
				function, _, _ := strings.Cut(name, "/")
				file, ok := where[pkg+" "+function]
				if !ok {
					errs = append(errs, fmt.Errorf("row %s: there is no %s in %s", w.id, function, pkg))
				}
				links = append(links, fmt.Sprintf("[`%s`](../%s)", name, file))
			}
			if len(links) == 0 {
				errs = append(errs, fmt.Errorf("row %s: no test drives it", w.id))
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", w.id, w.text, w.section, strings.Join(links, ", "))
		}
	}
	return b.String(), errors.Join(errs...)
}

// sources are the files of the test functions of the packages that rows name.
func sources(root fs.FS, parts []part) (map[string]string, error) {
	out := map[string]string{}
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
					out[pkg+" "+f.Name.Name] = name
				}
			}
		}
	}
	return out, nil
}
