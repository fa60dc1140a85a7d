package prompt_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/prompt"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

func fields() prompt.Fields {
	return prompt.Fields{
		Role: "deployer", WorkItem: "GPX-42", Repo: "acme/gpxflow", Branch: "feature/GPX-42-tiles", Main: "main", Docs: "docs/work/GPX-42",
		SHA: "4f1c", Stage: "deploy", Phase: "deploy", Deploy: "make deploy", Default: "Deploy 4f1c.",
	}
}

// All fields of a template, and what may be decided by them.
func Example() {
	text, err := prompt.Render(`You are the {{.Role}} of {{.WorkItem}} in {{.Repo}}, on {{.Branch}} (from {{.Main}}).
{{if and (eq .Stage "deploy" "deploy-staging") (ne .Phase "a")}}Release {{.SHA}} as {{.Docs}}/plan.md says: {{.Deploy}}
{{- else}}{{.Default}}{{end}}
`, fields())
	fmt.Print(text, err)
	// Output:
	// You are the deployer of GPX-42 in acme/gpxflow, on feature/GPX-42-tiles (from main).
	// Release 4f1c as docs/work/GPX-42/plan.md says: make deploy
	// <nil>
}

// Every field is a plain string, is rendered by its name, and is in the documentation: a
// value with methods could be called.
func TestFields(t *testing.T) {
	doc, err := os.ReadFile("../../docs/registry.md")
	require.NoError(t, err)
	v := reflect.ValueOf(fields())
	for i := range v.NumField() {
		f := v.Type().Field(i)
		require.Equal(t, reflect.TypeFor[string](), f.Type, f.Name)
		text, err := prompt.Render("{{."+f.Name+"}}", fields())
		require.NoError(t, err)
		require.Equal(t, v.Field(i).String(), text)
		require.Contains(t, string(doc), "| `{{."+f.Name+"}}` |")
	}
	require.Zero(t, v.NumMethod())
}

func TestBuiltin(t *testing.T) {
	for _, r := range stage.Roles() {
		text, err := prompt.Render(prompt.Builtin(r), fields())
		require.NoError(t, err, r)
		require.NotContains(t, text, "{")
	}
	f := fields()
	for at, want := range map[[2]string]string{
		{string(stage.DeployStaging), ""}:                  "to staging",
		{string(stage.Deploy), string(stage.PhaseAwait)}:   "without changing anything in production",
		{string(stage.Deploy), string(stage.PhaseRelease)}: "Deploy the merged commit",
	} {
		f.Stage, f.Phase = at[0], at[1]
		text, err := prompt.Render(prompt.Builtin(stage.Deployer), f)
		require.NoError(t, err)
		require.Contains(t, text, want)
	}
}

func TestHash(t *testing.T) {
	require.Equal(t, "2cf24dba5fb0", prompt.Hash("hello"), "printf hello | sha256sum")
}

// What would run long, grow, reach further than the fields, or fail while it is rendered, is
// refused before, with its line.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "is empty",
		" \n\t":                           "is empty",
		"a\x00b":                          "is no UTF-8 text",
		"\xff":                            "is no UTF-8 text",
		strings.Repeat("x", prompt.Max+1): "has 8193 bytes, and at most 8192 are taken",
		"a\nb {{.Titel}}":                 "line 2: there is no field .Titel, there are .Role, .WorkItem",
		"{{.Role.Name}}":                  "line 1: there is no field .Role.Name",
		"a\n\n{{.Docs":                    "line 3: unclosed action",
		"{{if .Docs}}x":                   "line 1: unexpected EOF",
		"{{range 1000000000}}x{{end}}":    "line 1: {{range 1000000000}}x{{end}} is not allowed: want text, fields such as {{.Docs}}",
		"{{range .Docs}}x{{end}}":         "is not allowed",
		"{{with .Docs}}{{.}}{{end}}":      "is not allowed",
		"{{.}}":                           ". is not allowed",
		"{{$}}":                           "$ is not allowed",
		"{{$x := .Docs}}{{$x}}":           "is not allowed",
		"{{printf \"%2000000000d\" 1}}":   `function "printf" not defined`,
		"{{html .Docs}}":                  `function "html" not defined`,
		"{{call .Docs}}":                  `function "call" not defined`,
		"{{index .Docs 1}}":               `function "index" not defined`,
		"{{len .Docs}}":                   `function "len" not defined`,
		"{{.Docs | not}}":                 "is not allowed",
		"{{.Docs .Repo}}":                 "is not allowed",
		"{{(.Docs).Repo}}":                "is not allowed",
		"{{1}}":                           "1 is not allowed",
		"{{true}}":                        "true is not allowed",
		"{{nil}}":                         "nil is not",
		"{{eq .Docs}}":                    "eq has 1 values",
		"{{ne .Docs \"a\" \"b\"}}":        "ne has 3 values",
		"{{and}}":                         "and has 0 values",
		"{{not .Docs .Repo}}":             "not has 2 values",
		"{{eq .Docs 1}}":                  "1 is not allowed",
		"{{eq .Docs (eq .Role \"x\")}}":   "eq compares fields and quoted strings alone",
		`{{template "line"}}`:             "is not allowed",
		`{{template "line" .}}`:           "is not allowed",
		`{{define "x"}}{{end}}a`:          `defines the template "x"`,
		`{{block "x" .}}{{end}}`:          `defines the template "x"`,
		`{{define "line"}}{{template "line"}}{{end}}`: "is not allowed",
		"{{break}}":                                     "break",
		"{{if .Docs}}{{else}}{{.No}}{{end}}":            "no field .No",
		"{{if .No}}a{{end}}":                            "no field .No",
		"{{if eq .Role \"x\"}}a{{else if .No}}b{{end}}": "no field .No",
	} {
		err := prompt.Check(text)
		require.ErrorContains(t, err, want, text)
		_, err = prompt.Render(text, fields())
		require.ErrorContains(t, err, want, text)
	}
}

// What passes ends at the bound, whatever the fields hold.
func TestRenderIsBounded(t *testing.T) {
	f := fields()
	f.Default = strings.Repeat("d", 1<<20)
	for text, want := range map[string]string{
		"{{.Default}}":                   "more than 8192 bytes",
		"{{if ne .Role .Role}}a{{end}} ": "nothing is rendered of it",
	} {
		require.NoError(t, prompt.Check(text))
		_, err := prompt.Render(text, f)
		require.ErrorContains(t, err, want)
	}
	deep := func(open, inner, end string) string {
		n := (prompt.Max - len(inner)) / (len(open) + len(end))
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	text, err := prompt.Render(deep("{{if .Role}}", "x", "{{end}}"), f)
	require.NoError(t, err)
	require.Equal(t, "x", text)
	text, err = prompt.Render("{{if "+strings.Repeat("(and ", 1000)+".Role"+strings.Repeat(")", 1000)+"}}x{{end}}", f)
	require.NoError(t, err)
	require.Equal(t, "x", text)
	require.Error(t, prompt.Check(strings.Repeat("{{(", prompt.Max/3)))
}

func FuzzRender(f *testing.F) {
	f.Add("{{if eq .Stage \"deploy\"}}{{.Default}}{{else}}x{{end}}")
	f.Fuzz(func(t *testing.T, text string) {
		out, err := prompt.Render(text, fields())
		if err == nil && len(out) > prompt.Max {
			t.Fatal("longer than its bound")
		}
		if passed := prompt.Check(text); passed == nil && err != nil && !strings.Contains(err.Error(), "rendered") {
			t.Fatalf("Check has passed what fails: %v", err)
		}
	})
}
