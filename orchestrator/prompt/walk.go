package prompt

import (
	"fmt"
	"slices"
	"strings"
	"text/template/parse"
)

// walk looks at the parsed form of a template: a list of what is allowed, so that a node that
// some later Go adds is refused.
type walk struct{ text string }

func (w walk) refuse(n parse.Node, format string, args ...any) error {
	line := 1 + strings.Count(w.text[:min(int(n.Position()), len(w.text))], "\n")
	return fmt.Errorf("%s %d: %s%s", name, line, fmt.Sprintf(format, args...), allowed)
}

func (w walk) list(l *parse.ListNode) error {
	if l == nil { // an if without else
		return nil
	}
	for _, n := range l.Nodes {
		var err error
		switch n := n.(type) {
		case *parse.TextNode, *parse.CommentNode:
		case *parse.ActionNode:
			err = w.pipe(n.Pipe)
		case *parse.IfNode:
			if err = w.pipe(n.Pipe); err == nil {
				err = w.list(n.List)
			}
			if err == nil {
				err = w.list(n.ElseList)
			}
		default:
			err = w.refuse(n, "%.40s is not allowed", n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pipe lets one command pass, without a variable: a value, or a function of values.
func (w walk) pipe(p *parse.PipeNode) error {
	if len(p.Decl) > 0 || len(p.Cmds) != 1 {
		return w.refuse(p, "%.40s is not allowed", p)
	}
	args := p.Cmds[0].Args
	called, ok := args[0].(*parse.IdentifierNode)
	if !ok {
		if len(args) != 1 {
			return w.refuse(p, "%.40s is not allowed", p)
		}
		return w.value(args[0])
	}
	args = args[1:]
	compares := called.Ident == "eq" || called.Ident == "ne"
	least := max(1, map[string]int{"eq": 2, "ne": 2}[called.Ident])
	tooMany := len(args) > 1 && called.Ident == "not" || len(args) > 2 && called.Ident == "ne"
	if len(args) < least || tooMany {
		return w.refuse(p, "%s has %d values", called.Ident, len(args))
	}
	for _, a := range args {
		if _, nested := a.(*parse.PipeNode); nested && compares {
			return w.refuse(a, "%s compares fields and quoted strings alone", called.Ident)
		}
		if err := w.value(a); err != nil {
			return err
		}
	}
	return nil
}

func (w walk) value(n parse.Node) error {
	switch n := n.(type) {
	case *parse.StringNode:
		return nil
	case *parse.PipeNode:
		return w.pipe(n)
	case *parse.FieldNode:
		if len(n.Ident) == 1 && slices.Contains(names(), n.Ident[0]) {
			return nil
		}
		return w.refuse(n, "there is no field %.40s, there are .%s", n, strings.Join(names(), ", ."))
	default:
		return w.refuse(n, "%.40s is not allowed", n)
	}
}
