package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fault is a change of the product that breaks what a row says.
type fault struct {
	row     string
	changes []change
}

// change is a text of one file, and what replaces it.
type change struct{ file, find, replace string }

// faults reads testdata/faults. A fault begins with "row" and a row's id; for each file that it changes follow "in" and the
// file, the lines to find behind "-" and those that replace them behind "+".
func faults(t *testing.T) (out []fault) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), "internal/conformance/testdata/faults/*.txt"))
	require.NoError(t, err)
	for _, name := range files {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		out = append(out, parseFaults(string(body))...)
	}
	return out
}

func parseFaults(text string) (out []fault) {
	var c *change
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		kind, rest, _ := strings.Cut(line, " ")
		switch {
		case kind == "row":
			out = append(out, fault{row: rest})
		case kind == "in":
			f := &out[len(out)-1]
			f.changes = append(f.changes, change{file: rest})
			c = &f.changes[len(f.changes)-1]
		case strings.HasPrefix(line, "-"):
			c.find = join(c.find, line[1:])
		case strings.HasPrefix(line, "+"):
			c.replace = join(c.replace, line[1:])
		}
	}
	return out
}

// join adds a line to lines.
func join(lines, line string) string {
	if lines == "" {
		return line
	}
	return lines + "\n" + line
}

// root is the module's folder.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("no go.mod")
	return ""
}

// write writes the changed files of a fault to dir with the overlay that puts them in place, and returns its name.
func (f fault) write(root, dir string) (string, error) {
	bodies := map[string]string{}
	for _, c := range f.changes {
		name := filepath.Join(root, c.file)
		if _, read := bodies[name]; !read {
			body, err := os.ReadFile(name)
			if err != nil {
				return "", err
			}
			bodies[name] = string(body)
		}
		if n := strings.Count(bodies[name], c.find); n != 1 || c.find == "" {
			return "", fmt.Errorf("row %s: found %d times in %s, not once: %q", f.row, n, c.file, c.find)
		}
		bodies[name] = strings.Replace(bodies[name], c.find, c.replace, 1)
	}
	replace := map[string]string{}
	for name, body := range bodies {
		replace[name] = filepath.Join(dir, strconv.Itoa(len(replace))+filepath.Ext(name))
		if err := os.WriteFile(replace[name], []byte(body), 0o600); err != nil {
			return "", err
		}
	}
	overlay := filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// plantAll runs the tests of each row against each of its faults, and reports whether every test went red by a fault, and every
// fault turned a test red.
func plantAll(ctx context.Context, dir string, to io.Writer, parts []part, all []fault) (bool, error) {
	root, err := os.Getwd()
	if err != nil {
		return false, err
	}
	red, green := 0, 0
	for _, p := range parts {
		fmt.Fprintf(to, "\n%s\n", p.name)
		for _, w := range p.rows {
			seen := results{}
			for _, f := range all {
				if f.row != w.id {
					continue
				}
				overlay, err := f.write(root, dir)
				if err != nil {
					return false, err
				}
				fresh := slices.DeleteFunc(slices.Clone(w.tests), func(t string) bool { return seen[t] == "fail" })
				failed, err := turnRed(ctx, fresh, overlay)
				if err == nil && len(failed) == 0 { // then one that was red before
					failed, err = turnRed(ctx, w.tests, overlay)
				}
				if err != nil {
					return false, err
				}
				fmt.Fprintf(to, "  %-28s %s: %s\n", w.id, f.changes[0].file, cmp.Or(strings.Join(failed, ", "), "! no test goes red"))
				if len(failed) == 0 {
					green++
				}
				for _, t := range failed {
					seen[t] = "fail"
				}
			}
			for _, t := range w.tests {
				if seen[t] == "fail" {
					red++
					continue
				}
				green++
				fmt.Fprintf(to, "  %-28s ! %s stays green\n", w.id, t)
			}
		}
	}
	fmt.Fprintf(to, "\n%d tests of rows went red by a fault of their row; %d tests and faults did not\n", red, green)
	return red > 0 && green == 0, nil
}

// turnRed runs tests and returns those that fail.
func turnRed(ctx context.Context, tests []string, overlay string) ([]string, error) {
	r, err := runTests(ctx, io.Discard, []part{{rows: []row{{tests: tests}}}}, overlay)
	return slices.DeleteFunc(slices.Clone(tests), func(t string) bool { return r.of(t) != "fail" }), err
}

// Each row has a planted fault, and each fault can be planted.
func TestFaultsApply(t *testing.T) {
	rows, planted := map[string]bool{}, map[string]bool{}
	for _, p := range specification() {
		for _, w := range p.rows {
			rows[w.id] = true
		}
	}
	for _, f := range faults(t) {
		planted[f.row] = true
		_, err := f.write(root(t), t.TempDir())
		require.NoError(t, err)
	}
	require.Equal(t, rows, planted)
}

// A test that a fault turns red counts, and one that stays green beside it is told.
func TestPlanted(t *testing.T) {
	t.Chdir("../..")
	parts := []part{{"P", []row{{"r", "S", "T.", []string{"internal/conformance TestRows", "internal/conformance TestCheckRefuses"}}}}}
	planted := parseFaults("row r\nin internal/conformance/check_test.go\n-\t\t\tif len(w.tests) == 0 {\n+\t\t\tif len(w.tests) < 0 {\n")
	out := strings.Builder{}
	red, err := plantAll(t.Context(), t.TempDir(), &out, parts, planted)
	require.NoError(t, err)
	require.False(t, red)
	require.Contains(t, out.String(), "check_test.go: internal/conformance TestCheckRefuses\n")
	require.Contains(t, out.String(), "! internal/conformance TestRows stays green\n")
	planted[0].changes[0].find = "no such text"
	_, err = plantAll(t.Context(), t.TempDir(), &out, parts, planted)
	require.ErrorContains(t, err, "found 0 times")
}
