// Package yamlplace has the errors of YAML files, and the lines that they are about.
package yamlplace

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Error names the place of a fault in a file.
type Error struct {
	File string
	Line int // 0 when it is not known
	Err  error
}

// Error names the file and the line.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Line is where a field of an entry of a list stands; the entry itself when the
// field is not there, 0 when neither is.
func Line(tree *ast.File, list string, entry int, field string) int {
	for _, path := range []string{fmt.Sprintf("$.%s[%d].%s", list, entry, field), fmt.Sprintf("$.%s[%d]", list, entry)} {
		p, err := yaml.PathString(path)
		if err != nil {
			continue
		}
		if node, err := p.FilterFile(tree); err == nil && node != nil {
			return node.GetToken().Position.Line
		}
	}
	return 0
}

// Of is the line that a YAML error is about; 0 when it names none.
func Of(err error) int {
	var e yaml.Error
	if errors.As(err, &e) && e.GetToken() != nil {
		return e.GetToken().Position.Line
	}
	return 0
}

// Short is the first line of a YAML error, without its position.
func Short(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	if _, rest, ok := strings.Cut(text, "] "); ok {
		text = rest
	}
	return text
}
