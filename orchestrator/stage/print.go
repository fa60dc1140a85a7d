package stage

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// String names the edge: "development --ci--> review".
func (e Edge) String() string {
	from := string(e.From)
	if e.From == None {
		from = "(none)"
	}
	on := string(e.On)
	if e.When != Always {
		on += " [" + string(e.When) + "]"
	}
	return fmt.Sprintf("%s --%s--> %s", from, on, e.To)
}

// Validate checks that a registry makes sense: every stage is declared once and
// can be reached, every stage but a sink has a way out, no edge leaves a sink,
// and an edge that judges gates says what red does. The error names the row.
func (p Pipeline) Validate() error {
	info := map[Stage]Info{None: {}}
	for _, i := range p.Stages {
		if _, twice := info[i.Stage]; twice {
			return fmt.Errorf("pipeline: stage %q is declared twice or has no name", i.Stage)
		}
		if !i.Sink && i.Role == "" {
			return fmt.Errorf("pipeline: stage %q has no role and is not a sink", i.Stage)
		}
		info[i.Stage] = i
	}
	for _, e := range p.Edges {
		if err := e.validate(info); err != nil {
			return err
		}
	}
	if _, err := p.CheckLanes(); err != nil {
		return fmt.Errorf("pipeline: %w", err)
	}
	return p.reach()
}

func (e Edge) validate(info map[Stage]Info) error {
	from, known := info[e.From]
	_, knownTo := info[e.To]
	switch {
	case !known:
		return fmt.Errorf("pipeline: edge %s leaves a stage that is not declared", e)
	case !knownTo || e.To == None:
		return fmt.Errorf("pipeline: edge %s leads to a stage that is not declared", e)
	case from.Sink:
		return fmt.Errorf("pipeline: edge %s leaves a sink", e)
	case e.On == "" || e.Do == "":
		return fmt.Errorf("pipeline: edge %s has no trigger or no action", e)
	case (len(e.Gates) > 0) != (e.Red != RedNone):
		return fmt.Errorf("pipeline: edge %s must have both gates and a red action, or neither", e)
	default:
		return nil
	}
}

// reach checks that every working stage can be reached from the start and left.
// A sink without an edge into it (cancelled) is reached by a feature's rule.
func (p Pipeline) reach() error {
	next := map[Stage][]Stage{}
	for _, e := range p.Edges {
		if e.From != e.To {
			next[e.From] = append(next[e.From], e.To)
		}
	}
	seen := map[Stage]bool{None: true}
	for todo := []Stage{None}; len(todo) > 0; todo = todo[1:] {
		for _, to := range next[todo[0]] {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	for _, i := range p.Stages {
		if i.Sink {
			continue
		}
		if !seen[i.Stage] && !i.Ruled {
			return fmt.Errorf("pipeline: stage %q cannot be reached", i.Stage)
		}
		if len(next[i.Stage]) == 0 {
			return fmt.Errorf("pipeline: stage %q has no way out", i.Stage)
		}
	}
	return nil
}

// Has reports whether a stage of the pipeline has a role.
func (p Pipeline) Has(role Role) bool { return slices.Contains(p.Roles(), role) }

// Roles lists who works at the stages, in their order, each once.
func (p Pipeline) Roles() (out []Role) {
	for _, i := range p.Stages {
		if i.Role != "" && !slices.Contains(out, i.Role) {
			out = append(out, i.Role)
		}
	}
	return out
}

// Gates lists the names of all gates that the registry judges, in order of
// first use.
func (p Pipeline) Gates() (names []string) {
	for _, e := range p.Edges {
		for _, g := range e.Gates {
			if !slices.Contains(names, g) {
				names = append(names, g)
			}
		}
	}
	return names
}

// Print writes the registry as a table.
func (p Pipeline) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FROM\tTRIGGER\tWHEN\tGATES\tDOES\tTO\tRED")
	for _, e := range p.Edges {
		from := string(e.From)
		if e.From == None {
			from = "(none)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", from, e.On, cmp.Or(e.When, "–"),
			cmp.Or(strings.Join(e.Gates, ", "), "–"), e.Do, e.To, cmp.Or(e.Red, "–"))
	}
	return w.Flush()
}

// Mermaid writes the edges that change the stage as a Mermaid state diagram.
func (p Pipeline) Mermaid(out io.Writer) error {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	for _, e := range p.Edges {
		if e.From == e.To {
			continue
		}
		label := string(e.On)
		if len(e.Gates) > 0 {
			label += " / " + strings.Join(e.Gates, ", ")
		}
		fmt.Fprintf(&b, "    %s --> %s: %s\n", node(e.From), node(e.To), label)
	}
	for _, i := range p.Stages {
		if i.Sink {
			fmt.Fprintf(&b, "    %s --> [*]\n", node(i.Stage))
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func node(s Stage) string {
	if s == None {
		return "[*]"
	}
	return strings.ReplaceAll(string(s), "-", "_")
}
