package conformance

import (
	_ "embed" // for rows.txt
	"strings"
)

// row is a sentence of the specification.
type row struct {
	id      string
	section string // of the specification
	text    string
	tests   []string // "package TestName" or "package TestName/part of it"
}

// part groups the rows that are counted together.
type part struct {
	name string
	rows []row
}

// written has the name of a part behind #, and then a row a line: its id, section, text and tests.
//
//go:embed testdata/rows.txt
var written string

// specification are all rows.
func specification() (out []part) {
	for line := range strings.Lines(written) {
		name, begins := strings.CutPrefix(strings.TrimSpace(line), "# ")
		switch cells := strings.Split(name, " | "); {
		case begins:
			out = append(out, part{name: name})
		case len(cells) > 2:
			last := &out[len(out)-1]
			last.rows = append(last.rows, row{cells[0], cells[1], cells[2], cells[3:]})
		}
	}
	return out
}
