package conformance

import (
	"bytes"
	"flag"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

var (
	drive = flag.Bool("drive", false, "run the tests that the rows name, and print the rows")
	plant = flag.Bool("faults", false, "with -drive: run them against the planted faults of each row, and print which tests went red")
	only  = flag.String("part", "", "with -drive: only the parts and rows whose name contains this")
)

// Every row passes: each of its tests does, and with -faults each goes red by a planted fault.
func TestConformance(t *testing.T) {
	if !*drive {
		t.Skip("make conformance runs the tests of the rows")
	}
	t.Chdir("../..")
	parts := selected(*only)
	r, err := runTests(t.Context(), os.Stderr, parts, "")
	require.NoError(t, err)
	require.True(t, r.print(os.Stdout, parts))
	if *plant { // what is red without a fault would say nothing
		red, err := plantAll(t.Context(), t.TempDir(), os.Stdout, parts, faults(t))
		require.NoError(t, err)
		require.True(t, red)
	}
}

// selected are the rows of parts, and single rows, whose name contains one of some texts, between commas.
func selected(names string) (out []part) {
	wanted := func(name string) bool {
		return slices.ContainsFunc(strings.Split(strings.ToLower(names), ","), func(n string) bool { return strings.Contains(strings.ToLower(name), n) })
	}
	for _, p := range specification() {
		if !wanted(p.name) {
			p.rows = slices.DeleteFunc(p.rows, func(w row) bool { return !wanted(w.id) })
		}
		if len(p.rows) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// Each test function that the rows name exists.
func TestNamedTests(t *testing.T) {
	require.NoError(t, check(os.DirFS("../.."), specification()))
}

// Each row has a name of its own, a text that fits in a table and a section.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range specification() {
		for _, w := range p.rows {
			require.False(t, seen[w.id], w.id)
			seen[w.id] = true
			require.NotEmpty(t, w.section, w.id)
			require.NotEmpty(t, w.tests, w.id)
			require.True(t, strings.HasSuffix(w.text, ".") && !strings.ContainsAny(w.text, "|\n"), w.id)
		}
	}
}

// A test that is not there, and a row without one, are errors.
func TestCheckRefuses(t *testing.T) {
	root := fstest.MapFS{"a/x_test.go": {Data: []byte("package a\nfunc TestIs(t *testing.T) {}\nfunc (k *kit) TestMethod() {}\n")}}
	rows := func(tests ...string) []part { return []part{{"P", []row{{"r", "S", "Text.", tests}}}} }
	require.NoError(t, check(root, rows("a TestIs/part of it")))
	require.EqualError(t, check(root, rows("a TestIs", "a TestWas")), "row r: there is no TestWas in a")
	require.Error(t, check(root, rows("a TestMethod")))
	require.EqualError(t, check(root, rows()), "row r: no test drives it")
	root["b/tests/x.spec.mjs"] = &fstest.MapFile{Data: []byte("test('is drawn', async")}
	require.NoError(t, check(root, rows("b x.spec.mjs/is drawn")))
	require.EqualError(t, check(root, rows("b x.spec.mjs/is not")), `row r: there is no "is not" in x.spec.mjs`)
}

// A row passes when each of its tests has run and passed, and not otherwise.
func TestJudgement(t *testing.T) {
	const said = `{"Action":"start","Package":"m/a"}
{"Action":"run","Test":"TestA"}
{"Action":"pass","Test":"TestA/one_part"}
{"Action":"output","Test":"TestA/other","Output":"it is red\n"}
{"Action":"fail","Test":"TestA/other"}
{"Action":"fail","Test":"TestA"}
{"Action":"skip","Test":"TestB"}
{"Action":"pass","Test":"TestC"}
{"Action":"run","Test":"TestE"}
{"Action":"fail"}
`
	r, log := results{}, bytes.Buffer{}
	require.NoError(t, r.read(strings.NewReader(said), "a", &log))
	require.Equal(t, "it is red\n", log.String())
	for want, tests := range map[string][]string{
		"":                                      {"a TestC", "a TestA/one part"},
		"a TestA failed":                        {"a TestC", "a TestA"},
		"a TestB was skipped":                   {"a TestB"},
		"a TestE failed":                        {"a TestE"},
		"nothing ran under the name a TestD":    {"a TestC", "a TestD"},
		"nothing ran under the name b TestC":    {"b TestC"},
		"nothing ran under the name a TestA/no": {"a TestA/no"},
		"no test drives it":                     nil,
	} {
		require.Equal(t, want, r.why(row{tests: tests}))
	}
	out := bytes.Buffer{}
	parts := []part{{"P", []row{{"good", "S", "Well.", []string{"a TestC"}}, {"bad", "S", "Not well.", []string{"a TestB"}}}}}
	require.False(t, r.print(&out, parts))
	require.Regexp(t, `(?s)P\n  PASS  good +Well\.\n  FAIL  bad +Not well\.\n +! a TestB was skipped\n\n2 rows: 1 pass, 1 fail; 2 tests\n`, out.String())
	parts[0].rows = parts[0].rows[:1]
	require.True(t, r.print(io.Discard, parts))
	require.False(t, r.print(io.Discard, nil), "no rows is no pass")
	require.Error(t, r.read(strings.NewReader("no JSON"), "a", io.Discard))
}

// What does not build, and what is not there, is seen: the real go test runs.
func TestRunTests(t *testing.T) {
	t.Chdir("../..")
	parts := []part{{"P", []row{{"r", "S", "T.", []string{"internal/conformance TestRows", "internal/conformance TestNothing"}}}}}
	r, err := runTests(t.Context(), io.Discard, parts, "")
	require.NoError(t, err)
	require.Equal(t, results{"internal/conformance TestRows": "pass"}, r)
	require.Equal(t, "nothing ran under the name internal/conformance TestNothing", r.why(parts[0].rows[0]))
}
