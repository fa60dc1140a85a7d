package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// statements looks for what only one package may do.
func (f *file) statements() {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if f.pkg != "internal/run" {
				f.report(n.Pos(), "a go statement: goroutines are started by internal/run, which guards, names and waits for them")
			}
		case *ast.CallExpr:
			f.call(n)
		case *ast.InterfaceType:
			if len(n.Methods.List) > 5 {
				f.report(n.Pos(), "an interface of %d methods: 5 can be held in the head, and doubled by hand", len(n.Methods.List))
			}
		}
		return true
	})
}

func (f *file) call(c *ast.CallExpr) {
	switch fun := c.Fun.(type) {
	case *ast.Ident:
		switch {
		case fun.Name == "recover" && f.pkg != "internal/run":
			f.report(c.Pos(), "recover: panics are caught by internal/run, which counts them")
		case fun.Name == "panic" && !f.abort(c):
			f.report(c.Pos(), "panic: a failure is a value")
		}
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.SelectorExpr); ok && x.Sel.Name == "Meter" && slices.Contains([]string{"Add", "Set", "Observe"}, fun.Sel.Name) {
			f.report(c.Pos(), "Meter.%s: what is measured is a field of orchestrator.Metrics, which has its name and labels", fun.Sel.Name)
		}
		pkg, ok := fun.X.(*ast.Ident)
		if !ok {
			return
		}
		name := pkg.Name + "." + fun.Sel.Name
		here, _ := floorOf(f.pkg)
		switch {
		case here.floor == 0 && slices.Contains([]string{"time.Now", "time.Since", "time.Sleep", "time.After"}, name):
			f.report(c.Pos(), "%s: floor 0 has no clock but the event's", name)
		case name == "iter.Pull" && f.pkg != "internal/run/virtual":
			f.report(c.Pos(), "iter.Pull: coroutines are started by internal/run/virtual")
		case name == "os.Exit" && !f.command():
			f.report(c.Pos(), "os.Exit: only a main function ends the program")
		}
	}
}

// abort reports the one panic that net/http specifies: it breaks a connection.
func (f *file) abort(c *ast.CallExpr) bool {
	if !slices.Contains([]string{"orchestrator/web", "adapters/egress", "gpstracks/trackhttp"}, f.pkg) || len(c.Args) != 1 {
		return false
	}
	sel, ok := c.Args[0].(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "http" && sel.Sel.Name == "ErrAbortHandler"
}

func (f *file) command() bool { return f.ast.Name.Name == "main" }

// riddle matches a comment that names a thing by a clause about it.
var riddle = regexp.MustCompile(`^\S+ (is|are) (what|why|whose|who)\b`)

// comments looks for those that begin so.
func (f *file) comments() {
	for _, c := range f.ast.Comments {
		if words := riddle.FindString(c.Text()); words != "" {
			f.report(c.Pos(), "a comment begins %q: say what it holds, returns, bounds or does", words)
		}
	}
}

// declarations looks for state that is shared by everybody.
func (f *file) declarations() {
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				f.report(d.Pos(), "func init: what happens at start is written in main")
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				f.vars(d)
			}
		}
	}
}

// vars allows package variables that nobody changes: errors, expressions, words
// and embedded files.
func (f *file) vars(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok || v.Names[0].Name == "_" || f.constant(d, v) {
			continue
		}
		f.report(v.Pos(), "package variable %s: state is passed in, so that two of everything can live in one program", v.Names[0].Name)
	}
}

func (f *file) constant(d *ast.GenDecl, v *ast.ValueSpec) bool {
	if d.Doc != nil && strings.Contains(commentText(d.Doc), "go:embed") || v.Doc != nil && strings.Contains(commentText(v.Doc), "go:embed") {
		return true
	}
	if f.pkg == "internal/run" && v.Names[0].Name == "panics" {
		return true
	}
	for i, name := range v.Names {
		if strings.HasPrefix(name.Name, "Err") || strings.HasPrefix(name.Name, "err") {
			continue
		}
		if i >= len(v.Values) || !neverChanged(v.Values[i]) {
			return false
		}
	}
	return true
}

func commentText(g *ast.CommentGroup) string {
	var b strings.Builder
	for _, c := range g.List {
		b.WriteString(c.Text)
	}
	return b.String()
}

// neverChanged reports values that are compiled expressions, or tables and
// structs of literals in lower case by convention of the package.
func neverChanged(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		sel, ok := e.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		return slices.Contains([]string{"MustCompile", "NewReplacer", "New"}, sel.Sel.Name)
	case *ast.CompositeLit, *ast.BasicLit:
		return true
	default:
		return false
	}
}
