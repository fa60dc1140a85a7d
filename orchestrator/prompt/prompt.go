// Package prompt renders what a role is to do: the assignment, the one part of an agent's
// prompt that a team may write itself. The service's own frame (who the agent is, what it
// may change, how it reports, what is data) is around it and no part of a template.
//
// A template is one of text/template, cut down so that its rendering is bounded whoever
// has written it: fields, quoted strings, if with eq, ne, and, or, not, and comments. There is no
// range, no with, no variable, no pipeline, no other function and no other template.
package prompt

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Max is how long a template may be, and what is rendered of it, in bytes.
const Max = 8 << 10

// Fields lists what a template may name. All are plain text by which the service itself calls
// things: the title, the description and comments are not among them, because what is
// rendered is an instruction. They stand behind it in the prompt, marked as data.
type Fields struct {
	Role     string // analyst, architect, developer, reviewer, tester or deployer
	WorkItem string // such as GPX-42
	Repo     string // owner/name
	Branch   string // the task's
	Main     string // the protected branch
	Docs     string // directory of the task's documents, such as docs/work/GPX-42
	SHA      string // commit to judge or to deploy, 40 hexadecimal digits
	Stage    string // such as review, deploy-staging or deploy
	Phase    string // within the stage deploy: "a" to prepare it, "deploy" to make it
	Deploy   string // the registry's recipe for the deployment; empty = there is none
	Default  string // the built-in assignment, rendered
}

// names are the fields of Fields.
func names() []string {
	return []string{"Role", "WorkItem", "Repo", "Branch", "Main", "Docs", "SHA", "Stage", "Phase", "Deploy", "Default"}
}

// elseRequest is for tasks without the stage that writes a document.
const elseRequest = " Where that file is missing, {{.Docs}}/request.md says what is wanted."

// Builtin is the built-in template of a role. It does not name .Default.
func Builtin(r stage.Role) string {
	switch r {
	case stage.Analyst:
		return "Write what is required to {{.Docs}}/requirements.md and how it will be accepted to {{.Docs}}/acceptance.md. " +
			"The request is in {{.Docs}}/request.md."
	case stage.Architect:
		return "Write the design to {{.Docs}}/design.md. The requirements are in {{.Docs}}/requirements.md." + elseRequest
	case stage.Developer:
		return "Build what {{.Docs}}/design.md describes, with tests." + elseRequest + " Continuous integration judges the commit."
	case stage.Reviewer:
		return "Review the changes against {{.Main}}."
	case stage.Tester:
		return "Test the branch against {{.Docs}}/acceptance.md." + elseRequest
	default:
		return `{{if eq .Stage "deploy-staging"}}Deploy the commit {{.SHA}} to staging and check it there.` +
			`{{else if eq .Phase "a"}}Prepare the production deployment of {{.SHA}} without changing anything in production; ` +
			`write what will happen to {{.Docs}}/deploy-plan.md.` +
			`{{else}}Deploy the merged commit {{.SHA}} to production and check it there. ` +
			`If it is there already (an earlier attempt may have been interrupted, by the deployment itself perhaps) ` +
			`do not deploy it again: check it and report.{{end}}`
	}
}

// Hash names a template in the record of a run: the first 12 hexadecimal digits of its
// SHA-256.
func Hash(text string) string {
	return fmt.Sprintf("%.6x", sha256.Sum256([]byte(text)))
}

// Check returns an error that names the line, what is wrong there, and what may be there.
func Check(text string) error {
	_, err := parsed(text)
	return err
}

// Render renders a template. It is an error when Check returns one, when nothing is
// rendered, and when more than Max bytes are.
func Render(text string, f Fields) (string, error) {
	t, err := parsed(text)
	if err != nil {
		return "", err
	}
	out := &limited{}
	switch err := t.Execute(out, f); {
	case out.full:
		return "", fmt.Errorf("what is rendered of it has more than %d bytes", Max)
	case err != nil: // Check lets no template pass that can fail otherwise
		return "", err
	case strings.TrimSpace(out.String()) == "":
		return "", errors.New("nothing is rendered of it")
	default:
		return out.String(), nil
	}
}

// limited keeps what is rendered, and ends the rendering at Max.
type limited struct {
	strings.Builder
	full bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.full = l.Len()+len(p) > Max; l.full {
		return 0, errors.New("full")
	}
	return l.Builder.Write(p)
}

// name names the template in errors of text/template; it is cut off.
const name = "line"

func parsed(text string) (*template.Template, error) {
	switch {
	case len(text) > Max:
		return nil, fmt.Errorf("has %d bytes, and at most %d are taken: "+
			"say less, and name files of the repository for the rest", len(text), Max)
	case strings.TrimSpace(text) == "":
		return nil, errors.New("is empty")
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return nil, errors.New("is no UTF-8 text")
	}
	functions := map[string]any{"eq": true, "ne": true, "and": true, "or": true, "not": true}
	trees, err := parse.Parse(name, text, "", "", functions)
	if err != nil {
		return nil, errors.New(strings.Replace(strings.TrimPrefix(err.Error(), "template: "), name+":", name+" ", 1) + allowed)
	}
	for other := range trees {
		if other != name {
			return nil, fmt.Errorf("defines the template %.40q%s", other, allowed)
		}
	}
	w := walk{text}
	if err := w.list(trees[name].Root); err != nil {
		return nil, err
	}
	return template.New(name).AddParseTree(name, trees[name])
}

const allowed = `: want text, fields such as {{.Docs}}, and {{if eq .Stage "deploy"}}…{{else}}…{{end}}; {{"{{"}} writes braces`
