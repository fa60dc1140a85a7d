// Package apidoc holds descriptions of APIs (OpenAPI 3.1) against what is served. Only tests import it.
// Those of GitHub and Gitea (testdata) are cut from their own by describe.mjs.
package apidoc

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is an OpenAPI document, or a part of it.
type Document map[string]any

// Read reads a document.
func Read(text []byte) (d Document, err error) { return d, json.Unmarshal(text, &d) }

// Operations lists the operations by method and path: "GET /tasks".
func (d Document) Operations() map[string]Document {
	out := map[string]Document{}
	for path := range d.At(d, "paths") {
		for method := range d.At(d, "paths", path) {
			out[strings.ToUpper(method)+" "+path] = d.At(d, "paths", path, method)
		}
	}
	return out
}

// At follows keys; nil where there is nothing. A reference on the way is followed.
func (d Document) At(root Document, keys ...string) Document {
	for _, key := range keys {
		next, _ := d[key].(map[string]any)
		if d = root.Resolve(next); d == nil {
			return nil
		}
	}
	return d
}

// Resolve follows a reference within the document.
func (d Document) Resolve(part Document) Document {
	ref, ok := part["$ref"].(string)
	if !ok {
		return part
	}
	return d.At(d, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
}

// Violations lists where a value is not as a schema of the document says.
func (d Document) Violations(schema Document, v any, where string) []string {
	whole := map[string]any(maps.Clone(d)) // references lead to it
	whole["allOf"] = []any{map[string]any(schema)}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	_ = c.AddResource("apidoc:document", whole) // else it does not compile
	s, err := c.Compile("apidoc:document")
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		return []string{where + ": " + err.Error()}
	}
	return nil
}

// Decode reads JSON as Violations takes it.
func Decode(text []byte) (v any, err error) { return v, json.Unmarshal(text, &v) }

//go:embed testdata/*.json
var hosts embed.FS

// OfHost is the description of "github" or "gitea".
func OfHost(name string) (Document, error) {
	text, err := hosts.ReadFile("testdata/" + name + ".json")
	if err != nil {
		return nil, err
	}
	return Read(text)
}

// Watch serves as a double of a host does, and reports what the host's own description, which describe.mjs has cut, does not have
// of the requests and answers: operations, parameters, fields and values. A call whose path is no operation's is described elsewhere
// when it has one of the prefixes besides.
func (d Document) Watch(next http.Handler, report func(string), prefix string, besides ...string) http.Handler {
	forms := map[string]*regexp.Regexp{}
	for template := range d.At(d, "paths") {
		forms[template] = regexp.MustCompile("^" + names.ReplaceAllStringFunc(template, func(name string) string {
			return map[bool]string{true: ".+", false: "[^/]+"}[name == "{branch}" || name == "{ref}"]
		}) + "$")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, prefix)
		if slices.ContainsFunc(besides, func(p string) bool { return strings.HasPrefix(path, p) }) {
			next.ServeHTTP(w, r)
			return
		}
		sent, _ := io.ReadAll(r.Body) // what is short does not fit
		r.Body = io.NopCloser(bytes.NewReader(sent))
		said := &teller{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(said, r)
		op, best := Document(nil), ""
		for template, form := range forms {
			at := d.At(d, "paths", template, strings.ToLower(r.Method))
			if at != nil && len(template) > len(best) && form.MatchString(path) {
				op, best = at, template
			}
		}
		for _, wrong := range d.differs(op, r.URL.Query(), sent, said) {
			report(fmt.Sprintf("%s %s: %d: %s", r.Method, path, said.status, wrong))
		}
	})
}

// teller keeps an answer.
type teller struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (t *teller) WriteHeader(status int) { t.status = status; t.ResponseWriter.WriteHeader(status) }

func (t *teller) Write(b []byte) (int, error) { t.body.Write(b); return t.ResponseWriter.Write(b) }

// Hijack implements http.Hijacker, for a double that hangs up.
func (t *teller) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	t.status = 0
	return http.NewResponseController(t.ResponseWriter).Hijack()
}

// differs lists what an operation does not have; nil has nothing.
func (d Document) differs(op Document, query url.Values, sent []byte, said *teller) (out []string) {
	if op == nil {
		return []string{"is no operation"}
	}
	for name, values := range query {
		if known := op.At(d, "query", name); known == nil {
			out = append(out, "the parameter "+name+" is not described")
		} else if known["enum"] != nil {
			out = append(out, d.Violations(known, values[0], name)...)
		}
	}
	held := func(schema Document, body []byte, where string) {
		if v, err := Decode(body); err != nil {
			out = append(out, where+": "+err.Error())
		} else {
			out = append(out, d.Violations(schema, v, where)...)
		}
	}
	if body := op.At(d, "body"); body != nil && len(sent) > 0 {
		held(body, sent, "request")
	} else if len(sent) > 0 {
		out = append(out, "a body is not described")
	}
	if schema := op.At(d, "responses", fmt.Sprint(said.status)); said.status/100 == 2 && schema == nil {
		out = append(out, "the answer is not described")
	} else if said.status/100 == 2 && len(schema) > 0 {
		held(schema, said.body.Bytes(), "answer")
	}
	return out
}

// names are the parameters of a path. Those of branches and refs have slashes.
var names = regexp.MustCompile(`\{\w+\}`)
