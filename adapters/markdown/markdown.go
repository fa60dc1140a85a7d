// Package markdown renders texts that strangers and agents have written as HTML that a page can show:
// CommonMark with GitHub's tables, check boxes and struck words. What is hidden from nobody who reads
// the file is hidden from nobody who reads the page: HTML, comments too, is shown as text. Links lead
// to http and https alone, others are text; an image is a link, so that nothing is fetched, but for a file
// of a card: its tag has files/ID or board/cards/ID/files/ID, which the page is to complete.
package markdown

import (
	"bytes"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// The work of rendering grows with the square of a block's length: what is longer, in bytes, is not rendered.
const (
	textMax  = 64 << 10
	blockMax = 8 << 10 // between two blank lines
)

var engine = goldmark.New(
	goldmark.WithExtensions(
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)),
		extension.Strikethrough, extension.TaskList, extension.Linkify,
	),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(safe{}, 1))),
)

// Render returns the HTML of a text: headings begin at h3, and nothing has an id, a style or a script.
// A text that cannot be rendered, or is very long, is shown as it is.
func Render(text string) template.HTML {
	var out bytes.Buffer
	long := slices.ContainsFunc(strings.Split(text, "\n\n"), func(block string) bool { return len(block) > blockMax })
	if long || len(text) > textMax || engine.Convert([]byte(text), &out) != nil {
		return template.HTML("<pre>" + template.HTMLEscapeString(text) + "</pre>")
	}
	return template.HTML(out.String())
}

// safe renders what could be dangerous in the way of the package.
type safe struct{}

// register has nodes of a kind rendered so; then says what is rendered next.
func register[N ast.Node](
	r renderer.NodeRendererFuncRegisterer, kind ast.NodeKind, then ast.WalkStatus,
	render func(w util.BufWriter, source []byte, n N, entering bool),
) {
	r.Register(kind, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if is, ok := n.(N); ok {
			render(w, source, is, entering)
		}
		return then, nil
	})
}

func (safe) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	register(r, ast.KindHTMLBlock, ast.WalkSkipChildren, func(w util.BufWriter, source []byte, b *ast.HTMLBlock, entering bool) {
		if entering {
			end := ""
			if b.HasClosure() {
				end = escaped(b.ClosureLine.Value(source))
			}
			_, _ = w.WriteString("<pre>" + escaped(b.Lines().Value(source)) + end + "</pre>\n")
		}
	})
	register(r, ast.KindRawHTML, ast.WalkSkipChildren, func(w util.BufWriter, source []byte, h *ast.RawHTML, entering bool) {
		if entering {
			_, _ = w.WriteString("<code>" + escaped(h.Segments.Value(source)) + "</code>")
		}
	})
	register(r, ast.KindLink, ast.WalkContinue, func(w util.BufWriter, _ []byte, l *ast.Link, entering bool) {
		link(w, l.Destination, entering)
	})
	r.Register(ast.KindImage, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		i, ok := n.(*ast.Image)
		if !ok {
			return ast.WalkContinue, nil
		}
		if file := ofCard.FindSubmatch(i.Destination); file != nil {
			if entering {
				_, _ = w.WriteString(`<img src="` + string(file[1]) + `" alt="` + escaped(words(n, source)) + `">`)
			}
			return ast.WalkSkipChildren, nil
		}
		link(w, i.Destination, entering)
		if entering {
			_, _ = w.WriteString("image: ")
		}
		return ast.WalkContinue, nil
	})
	register(r, ast.KindAutoLink, ast.WalkContinue, func(w util.BufWriter, source []byte, l *ast.AutoLink, entering bool) {
		if entering {
			link(w, l.URL(source), true)
			_, _ = w.WriteString(escaped(l.Label(source)))
			link(w, l.URL(source), false)
		}
	})
	register(r, ast.KindHeading, ast.WalkContinue, func(w util.BufWriter, _ []byte, h *ast.Heading, entering bool) {
		tag := map[bool]string{true: "<h", false: "</h"}[entering]
		_, _ = w.WriteString(tag + string(rune('0'+min(h.Level+2, 6))) + ">")
	})
	register(r, east.KindTaskCheckBox, ast.WalkContinue, func(w util.BufWriter, _ []byte, b *east.TaskCheckBox, entering bool) {
		if entering {
			_, _ = w.WriteString(map[bool]string{true: "☑ ", false: "☐ "}[b.IsChecked])
		}
	})
}

// ofCard matches the address of a file of a card, at whatever host its path is said to be: what is kept of it are ids.
var ofCard = regexp.MustCompile(`^(?:[\w./-]*?/)??((?:board/cards/[a-z0-9]{20,40}/)?files/[0-9a-f]{32})$`)

// words is the text within a node.
func words(n ast.Node, source []byte) (out []byte) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			out = append(out, t.Value(source)...)
		}
		out = append(out, words(c, source)...)
	}
	return out
}

// link writes the tag of a link to another site; one to anything else is left out.
func link(w util.BufWriter, to []byte, entering bool) {
	at, err := url.Parse(string(to))
	switch {
	case err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https":
	case entering:
		_, _ = w.WriteString(`<a rel="nofollow noopener noreferrer" href="` + escaped([]byte(at.String())) + `">`)
	default:
		_, _ = w.WriteString("</a>")
	}
}

func escaped(b []byte) string { return template.HTMLEscapeString(string(b)) }
