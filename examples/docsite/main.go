// Command docsite builds the documentation of this repository as static pages, and fails when
// a link leads nowhere. A page takes its place in the navigation from its first line:
//
//	<!-- page: guides 20 -->
//
// names the part and the place within it. Without that line a page is at the end of the reference, and a
// decision at the end of the part why.
package main

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// source is where files that are no pages are shown.
const source = "https://github.com/signalbox-dev/signalbox/blob/main/"

var (
	//go:embed assets
	assets  embed.FS
	front   = regexp.MustCompile(`^<!-- page: ([a-z]+) ([0-9]+) -->\n`)
	unusual = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`) // in ids
)

// parts of the navigation, in order.
func parts() []string { return []string{"tutorial", "guides", "reference", "extending", "why"} }

// page is a document, and what it becomes.
type page struct {
	File, Out, Title, Part string // File and Out are slash-separated, from the root
	order                  string
	body                   []byte
	tree                   ast.Node
	ids                    map[string]bool // of headings
}

// section is an entry of the search index: what stands below one heading.
type section struct {
	Page  string `json:"p"`
	Title string `json:"t"`
	Link  string `json:"u"`
	Words string `json:"w"`
}

func main() {
	out := flag.String("out", ".bin/site", "the directory to write")
	root := flag.String("root", ".", "the repository")
	flag.Parse()
	n, err := build(*root, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "docsite:", err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stdout, "%s: %d pages\n", filepath.Join(*out, "index.html"), n)
}

// build writes the site and returns how many pages it has. An error names every broken link.
func build(root, out string) (int, error) {
	md := goldmark.New(goldmark.WithExtensions(extension.GFM))
	pages, err := read(root, md)
	if err != nil {
		return 0, err
	}
	for _, p := range pages {
		err = errors.Join(err, p.link(root, pages))
	}
	if err != nil {
		return 0, err
	}
	look, err := template.ParseFS(assets, "assets/page.html")
	if err != nil {
		return 0, err
	}
	var index []section
	for _, p := range pages {
		var body, whole bytes.Buffer
		if err := md.Renderer().Render(&body, p.body, p.tree); err != nil {
			return 0, err
		}
		err := look.Execute(&whole, map[string]any{
			"Page": p, "Pages": pages, "Parts": parts(), "Up": strings.Repeat("../", strings.Count(p.Out, "/")), "Source": source, "Body": template.HTML(body.String()), //nolint:gosec // of our own files, without their HTML
		})
		if err := errors.Join(err, write(filepath.Join(out, filepath.FromSlash(p.Out)), whole.Bytes())); err != nil {
			return 0, err
		}
		index = append(index, p.sections()...)
	}
	words, err := json.Marshal(index)
	if err != nil {
		return 0, err
	}
	err = write(filepath.Join(out, "index.js"), append([]byte("var sections = "), words...))
	for _, name := range []string{"site.css", "site.js"} {
		body, failed := assets.ReadFile("assets/" + name)
		err = errors.Join(err, failed, write(filepath.Join(out, name), body))
	}
	return len(pages), err
}

func write(name string, body []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, body, 0o644) //nolint:gosec // pages are for everybody
}

// read finds the pages and parses them, in the order of the navigation.
func read(root string, md goldmark.Markdown) (pages []*page, err error) {
	names := []string{"README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"}
	err = fs.WalkDir(os.DirFS(root), "docs", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			names = append(names, name)
		}
		return err
	})
	for _, name := range names {
		body, failed := os.ReadFile(filepath.Join(root, name))
		err = errors.Join(err, failed)
		p := &page{File: name, Out: strings.TrimSuffix(name, ".md") + ".html", body: body, ids: map[string]bool{}}
		if p.Part, p.order = "reference", "end"; strings.HasPrefix(name, "docs/decisions/") {
			p.Part = "why"
		}
		if m := front.FindSubmatch(body); m != nil {
			p.Part, p.order = string(m[1]), fmt.Sprintf("%4s", m[2])
			if !slices.Contains(parts(), p.Part) {
				return nil, fmt.Errorf("%s:1: there is no part %q, but %s", name, p.Part, strings.Join(parts(), ", "))
			}
		}
		if name == "README.md" {
			p.Out = "index.html"
		}
		p.tree = md.Parser().Parse(text.NewReader(body))
		p.name()
		pages = append(pages, p)
	}
	slices.SortStableFunc(pages, func(a, b *page) int {
		return cmp.Or(cmp.Compare(slices.Index(parts(), a.Part), slices.Index(parts(), b.Part)), cmp.Compare(a.order, b.order), cmp.Compare(a.File, b.File))
	})
	return pages, err
}

// name gives headings their ids, and the page the title of its first one.
func (p *page) name() {
	_ = ast.Walk(p.tree, func(n ast.Node, in bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && in {
			title := words(h, p.body)
			h.SetAttributeString("id", []byte(p.anchor(title)))
			p.Title = cmp.Or(p.Title, title)
		}
		return ast.WalkContinue, nil
	})
}

// link makes links to pages those of the site, and links to other files those of the repository.
func (p *page) link(root string, pages []*page) error {
	var errs []error
	_ = ast.Walk(p.tree, func(n ast.Node, in bool) (ast.WalkStatus, error) {
		l, ok := n.(*ast.Link)
		if !ok || !in {
			return ast.WalkContinue, nil
		}
		u, err := url.Parse(string(l.Destination))
		if err != nil || u.Scheme != "" {
			errs = append(errs, err)
			return ast.WalkContinue, nil
		}
		file := p.File
		if u.Path != "" {
			file = path.Join(path.Dir(p.File), u.Path)
		}
		at := slices.IndexFunc(pages, func(other *page) bool { return other.File == file })
		switch {
		case at < 0:
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(file))); err != nil || strings.HasPrefix(file, "..") {
				errs = append(errs, fmt.Errorf("%s: there is no %s", p.File, l.Destination))
			}
			l.Destination = []byte(source + file)
		case u.Fragment != "" && !pages[at].ids[u.Fragment]:
			errs = append(errs, fmt.Errorf("%s: %s has no heading #%s", p.File, file, u.Fragment))
		case u.Path != "":
			u.Path = strings.Repeat("../", strings.Count(p.Out, "/")) + pages[at].Out
			l.Destination = []byte(u.String())
		}
		return ast.WalkContinue, nil
	})
	return errors.Join(errs...)
}

// sections are the page's entries of the search index.
func (p *page) sections() (out []section) {
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			id, _ := h.AttributeString("id")
			out = append(out, section{Page: p.Title, Title: words(h, p.body), Link: fmt.Sprintf("%s#%s", p.Out, id)})
		} else if len(out) > 0 {
			out[len(out)-1].Words += words(n, p.body) + " "
		}
	}
	return out
}

// words are the text of a node.
func words(n ast.Node, body []byte) string {
	var out strings.Builder
	_ = ast.Walk(n, func(n ast.Node, in bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && in {
			out.Write(t.Segment.Value(body))
			if t.SoftLineBreak() {
				out.WriteByte(' ')
			}
		}
		if n.Type() == ast.TypeBlock && !in {
			out.WriteByte(' ')
		}
		if code, ok := n.(*ast.FencedCodeBlock); ok && in {
			out.Write(code.Lines().Value(body))
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(out.String())
}

// anchor is the id of a heading, as GitHub makes it.
func (p *page) anchor(title string) string {
	id := strings.ReplaceAll(unusual.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
	for k, base := 1, id; p.ids[id]; k++ {
		id = fmt.Sprintf("%s-%d", base, k)
	}
	p.ids[id] = true
	return id
}
