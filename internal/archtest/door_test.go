package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// behindDoor reports the packages that start, wait and read the clock through
// internal/run only, so that the simulator can drive them.
func behindDoor(pkg string) bool {
	return slices.Contains([]string{"orchestrator", "orchestrator/effects", "internal/simulate", "gates", "gates/checks"}, pkg) ||
		strings.HasPrefix(pkg, "orchestrator/features/")
}

// door looks for what goes past internal/run.
func (f *file) door() {
	const why = "internal/run is the one door to processes and time, so that a scheduler can drive it"
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if name, ok := waiting(n); ok {
				f.report(n.Pos(), "%s: %s", name, why)
			}
		case *ast.SelectStmt:
			f.report(n.Pos(), "a select statement: %s", why)
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				f.report(n.Pos(), "a receive from a channel: %s", why)
			}
		case *ast.SendStmt:
			f.report(n.Pos(), "a send on a channel: %s", why)
		case *ast.FuncDecl:
			f.locks(n.Body)
		case *ast.FuncLit:
			f.locks(n.Body)
		}
		return true
	})
}

// waiting names what a selector of the standard library waits for or reads.
func waiting(s *ast.SelectorExpr) (name string, ok bool) {
	pkg, isName := s.X.(*ast.Ident)
	if !isName {
		return "", false
	}
	name = pkg.Name + "." + s.Sel.Name
	return name, slices.Contains([]string{
		"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.Tick",
		"context.WithTimeout", "context.WithTimeoutCause", "context.WithDeadline", "context.WithDeadlineCause", "context.AfterFunc",
		"sync.WaitGroup", "sync.Cond", "sync.NewCond",
	}, name)
}

// locks looks for calls that may wait while a lock is held. Whatever may wait
// takes a context, so a function that locks passes none on.
func (f *file) locks(body *ast.BlockStmt) {
	locked := token.NoPos
	if body == nil {
		return
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // looked at on its own
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Lock" || sel.Sel.Name == "RLock") && locked == token.NoPos {
				locked = n.Pos()
			}
			for _, arg := range n.Args {
				if name, ok := arg.(*ast.Ident); ok && name.Name == "ctx" && locked != token.NoPos {
					f.report(n.Pos(), "a call that may wait under a lock: a call of a port that hangs would stop whoever wants the lock")
				}
			}
		}
		return true
	})
}
