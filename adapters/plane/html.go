package plane

import (
	"cmp"
	"context"
	"html"
	"net/url"
	"regexp"
	"strings"

	"github.com/JohannesKaufmann/dom"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	nethtml "golang.org/x/net/html"

	"github.com/signalbox-dev/signalbox/tracker"
)

// escapeHTML makes a fragment that shows a plain text: paragraphs at blank
// lines, line breaks elsewhere.
func escapeHTML(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "").Replace(strings.ToValidUTF8(text, "\ufffd"))
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		b.WriteString("<p>" + strings.ReplaceAll(html.EscapeString(part), "\n", "<br/>") + "</p>")
	}
	return b.String()
}

// commentHTML is a comment as Plane stores it. What its editor has no markup for, such as
// a part that unfolds, would lose its form when it is shown: the small print is a last
// paragraph.
func commentHTML(n tracker.NewComment) string {
	var parts []string
	for _, l := range n.Links {
		parts = append(parts, `<a href="`+html.EscapeString(l.URL)+`">`+html.EscapeString(l.Name)+"</a>")
	}
	if n.Note != "" {
		parts = append(parts, html.EscapeString(n.Note))
	}
	if len(parts) == 0 {
		return escapeHTML(n.Body)
	}
	return escapeHTML(n.Body) + "<p>" + strings.Join(parts, " · ") + "</p>"
}

// toMarkdown converts what Plane's editor stores. Nothing is escaped: it is read as text, too. What cannot be
// converted, since it is nested too deeply, stays as it is.
func toMarkdown(fragment string, at place) string {
	ctx := context.WithValue(context.Background(), placeKey{}, at)
	text, err := newConverter().ConvertString(fragment, converter.WithContext(ctx))
	if err != nil {
		text = fragment
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\u00a0", " ")
	text = boxAlone.ReplaceAllString(trailing.ReplaceAllString(text, ""), "$1 ")
	return strings.Trim(text, "\n \u200b\ufeff")
}

var (
	trailing = regexp.MustCompile(`(?m)[ \t]+$`)
	boxAlone = regexp.MustCompile(`(?m)^( *- \[[x ]\])\n\n +`) // the editor keeps the text of a check box apart from it
)

// place resolves the ids in elements of the editor's own.
type place struct {
	people map[string]tracker.Person
	assets string // address of uploaded files, before their ids
}

type placeKey struct{}

// placeOf is the place of a project: people are those that were read last.
func (c *Client) placeOf(projectID string) place {
	return place{c.members.Load().byID, strings.TrimSuffix(c.opt.BaseURL, "/") + "/api/assets/v2/workspaces/" +
		url.PathEscape(c.opt.Workspace) + "/projects/" + url.PathEscape(projectID) + "/"}
}

// newConverter converts HTML, with the elements that the editor adds to it.
func newConverter() *converter.Converter {
	c := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(), strikethrough.NewStrikethroughPlugin(),
	))
	for when, r := range map[int]*strings.Replacer{ // the library would write entities for these
		converter.PriorityEarly: strings.NewReplacer("<", "\ue000", ">", "\ue001"),
		converter.PriorityLate:  strings.NewReplacer("\ue000", "<", "\ue001", ">"),
	} {
		c.Register.TextTransformer(func(_ converter.Context, text string) string { return r.Replace(text) }, when)
	}
	c.Register.PreRenderer(func(ctx converter.Context, doc *nethtml.Node) {
		at, _ := ctx.Value(placeKey{}).(place)
		for n := range doc.Descendants() {
			at.rewrite(n)
		}
	}, converter.PriorityEarly-1) // the library drops some of them
	return c
}

// rewrite puts what HTML has in the place of an element of the editor's own.
func (at place) rewrite(n *nethtml.Node) {
	_, checked := dom.GetAttribute(n, "checked")
	src := dom.GetAttributeOr(n, "src", "")
	switch id := dom.GetAttributeOr(n, "entity_identifier", ""); {
	case n.Data == "mention-component":
		*n = textIn(n, "@"+cmp.Or(at.people[id].Name, id))
	case n.Data == "image-component" && strings.Contains(src, "://"):
		n.Data, n.Attr = "img", []nethtml.Attribute{{Key: "src", Val: src}, {Key: "alt", Val: "image"}}
	case n.Data == "image-component":
		n.Data, n.Attr = "img", []nethtml.Attribute{{Key: "src", Val: at.assets + src + "/"}, {Key: "alt", Val: "image"}}
	case n.Data == "input" && checked:
		*n = textIn(n, "[x] ")
	case n.Data == "input" && dom.GetAttributeOr(n, "type", "") == "checkbox":
		*n = textIn(n, "[ ] ")
	}
}

// textIn is a text in the place of a node.
func textIn(n *nethtml.Node, text string) nethtml.Node {
	return nethtml.Node{
		Type: nethtml.TextNode, Data: text, Parent: n.Parent, PrevSibling: n.PrevSibling, NextSibling: n.NextSibling,
	}
}
