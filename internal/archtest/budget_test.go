package archtest

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// budget bounds what a reader of the module has to take in. A number falls with each landing that frees
// something of it. It rises in a commit of its own, which says what for.
func budget() map[string]int {
	return map[string]int{
		"lines outside tests":        129_979,
		"tokens outside tests":       892_711,
		"tokens of tests":            780_872,
		"exported names":             2_614,
		"lines over 140 columns":     48,
		"packages of the server":     101,
		"tokens of the server":       658_557,
		"words of Markdown":          28_880,
		"settings":                   148,
		"fields of Feature":          9,
		"methods of Engine":          59,
		"exported methods of Engine": 30,
	}
}

// slack is how far a number may stand above what was reached, in percent: further, and the budget is to be lowered.
const slack = 1

// The module stays within its budget, and the budget close to the module.
func TestBudget(t *testing.T) {
	linked, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "../../examples/server").Output()
	require.NoError(t, err)
	server := map[string]bool{}
	for p := range strings.FieldsSeq(string(linked)) {
		if dir, ok := strings.CutPrefix(p, Module+"/"); ok {
			server[dir] = true
		}
	}
	got, err := measure(os.DirFS("../.."), server)
	require.NoError(t, err)
	got["packages of the server"] = len(server)
	for name, most := range budget() {
		require.Contains(t, got, name)
		if got[name] > most {
			t.Errorf("%s: %d, the budget is %d: what can go in return?", name, got[name], most)
		}
		if got[name] < most-most*slack/100 {
			t.Errorf("%s: %d, the budget is %d: lower it", name, got[name], most)
		}
	}
}

// Each kind of size is counted where it is, and comments cost nothing.
func TestMeasure(t *testing.T) {
	files := fstest.MapFS{}
	for name, body := range map[string]string{
		"queue/x.go":                "// Package queue is long.\npackage queue\n\n// A is one.\nconst A, b = 1, 2\n\ntype T struct{ x int `env:\"X\"` }\n\nfunc (*T) M() {}\nfunc (t) N()  {}\n",
		"queue/x_test.go":           "package queue\n",
		"queue/testdata/x.go":       "package x\n",
		"orchestrator/x.go":         "package orchestrator\n\nfunc (e *Engine) f() {}\nfunc (x Engine) g()  {}\nfunc (x Other) h()   {}\n//" + strings.Repeat("é", 139) + "\n",
		"examples/server/main.go":   "package main\n\nfunc Run() {}\n",
		"internal/run/x.go":         "package run\n\nfunc Run() {}\n",
		"node_modules/x.go":         "package x\n",
		"browsertest/results/x.md":  "of a run",
		"bench/queue/go.mod":        "module bench\n",
		"bench/queue/x.go":          "package main\n",
		"examples/server/x.txt":     "no Go",
		"queue/testdata/x.md":       "two words",
		".bin/x.go":                 "package x\n",
		"examples/server/m_test.go": "package main\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(body)}
	}
	got, err := measure(files, map[string]bool{"queue": true})
	require.NoError(t, err)
	require.Equal(t, map[string]int{
		"lines outside tests": 23, "tokens outside tests": 88, "tokens of tests": 4, "exported names": 3, "lines over 140 columns": 1,
		"tokens of the server": 37, "methods of Engine": 2, "settings": 1, "words of Markdown": 2,
	}, got)
}

// measure counts lines, tokens (without comments and without the semicolons that line ends stand for) and names.
// Nested modules belong to the reader's house as well.
func measure(root fs.FS, server map[string]bool) (map[string]int, error) {
	got := map[string]int{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && (base == "node_modules" || base == "results" || base != "." && strings.HasPrefix(base, ".")): // not ours, or of a run
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".md") && (!strings.HasSuffix(name, ".go") || strings.Contains("/"+name, "/testdata/")):
			return nil
		}
		body, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, ".md") {
			got["words of Markdown"] += len(strings.Fields(string(body)))
			return nil
		}
		tokens := countTokens(body)
		if strings.HasSuffix(name, "_test.go") {
			got["tokens of tests"] += tokens
			return nil
		}
		got["tokens outside tests"] += tokens
		if server[path.Dir(name)] {
			got["tokens of the server"] += tokens
		}
		for line := range strings.Lines(string(body)) {
			got["lines outside tests"]++
			if utf8.RuneCountInString(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    ")) > 140 {
				got["lines over 140 columns"]++
			}
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, body, 0)
		if err == nil {
			countNames(got, name, file)
		}
		return err
	})
	return got, err
}

func countTokens(body []byte) (n int) {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(body)), body, nil, 0)
	for {
		switch _, tok, text := s.Scan(); {
		case tok == token.EOF:
			return n
		case tok != token.SEMICOLON || text != "\n":
			n++
		}
	}
}

// countNames counts the exported names that an importer can reach, the engine's methods, what a feature can
// hang on, and settings: fields that are read from the environment.
func countNames(got map[string]int, name string, file *ast.File) {
	public := file.Name.Name != "main" && !strings.HasPrefix(name, "internal/")
	count := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if public && id.IsExported() {
				got["exported names"]++
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok && f.Tag != nil && strings.HasPrefix(f.Tag.Value, "`env:") {
			got["settings"]++
		}
		return true
	})
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			of := receiver(d)
			if path.Dir(name) == "orchestrator" && of == "Engine" {
				got["methods of Engine"]++
				if d.Name.IsExported() {
					got["exported methods of Engine"]++
				}
			}
			if of == "" || ast.IsExported(of) {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					count(s.Name)
					if t, ok := s.Type.(*ast.StructType); ok && name == "orchestrator/feature.go" && s.Name.Name == "Feature" {
						got["fields of Feature"] = t.Fields.NumFields()
					}
				case *ast.ValueSpec:
					count(s.Names...)
				}
			}
		}
	}
}

// receiver is the name of a method's type; empty for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	at := d.Recv.List[0].Type
	for {
		switch x := at.(type) {
		case *ast.StarExpr:
			at = x.X
		case *ast.IndexExpr:
			at = x.X
		case *ast.IndexListExpr:
			at = x.X
		case *ast.Ident:
			return x.Name
		default:
			return "?"
		}
	}
}
