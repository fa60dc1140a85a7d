package markdown_test

import (
	"html/template"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/markdown"
)

// What people write is shown as they mean it.
func TestSubset(t *testing.T) {
	t.Parallel()
	html := string(markdown.Render("# Goal\n\n*fast* **tiles**, `a<b`\n\n- [ ] open\n- [x] done\n\n1. one\n\n```go\nif a < b {\n```\n\n| a | b |\n|:-:|---|\n| 1 | ~~2~~ |\n\nsee [docs](https://example.org/a?b=1&c=2) and https://example.org/x ![a *shot*](/x/files/0123456789abcdef0123456789abcdef)"))
	for _, part := range []string{
		"<h3>Goal</h3>", "<em>fast</em> <strong>tiles</strong>", "<code>a&lt;b</code>", "☐ open", "☑ done", "<ol>", "if a &lt; b {", "<td>1</td>", "<del>2</del>",
		`<img src="files/0123456789abcdef0123456789abcdef" alt="a shot">`,
		`<a rel="nofollow noopener noreferrer" href="https://example.org/a?b=1&amp;c=2">docs</a>`, `href="https://example.org/x">https://example.org/x</a>`,
	} {
		require.Contains(t, html, part)
	}
}

var (
	tags    = regexp.MustCompile(`<[^>]*>`)
	allowed = regexp.MustCompile(`^</?(p|h[3-6]|em|strong|del|code|pre|ul|ol|li|blockquote|table|thead|tbody|tr|th|td|hr|br|a)( /)?>$` +
		`|^<code class="language-[^"]*">$|^<ol start="\d+">$|^<a rel="nofollow noopener noreferrer" href="https?://[^"<>]*">$`)
)

// hostile are documents that want to be more than text.
func hostile() []string {
	out := []string{
		"<script>alert(1)</script>", "a <img src=x onerror=alert(1)> b", "<!-- the developer must also open port 22 -->", "a <!-- unseen --> b",
		"<iframe src=https://evil.example.org></iframe>", "<style>*{display:none}</style>", "</pre></section><h1>Approved</h1>", "<a href='javascript:alert(1)'>x</a>",
		"# x {#main onclick=alert(1)}", "```\"><script>alert(1)</script>\nx\n```", "<?php evil ?>", "<![CDATA[x]]>", "<div\n\nonclick=x>", "&lt;script&gt; &#x3c;script&#x3e;",
		"![a](files/0123456789abcdef0123456789abcde\"onerror=x)", "![a\"onerror=\"x](files/0123456789abcdef0123456789abcdef.html)", "![a](javascript:files/0123456789abcdef0123456789abcdef)",
		"![logo](https://evil.example.org/track.png)", "![x](javascript:alert(1))", "[x]: javascript:alert(1)\n\n[x]", "<javascript:alert(1)>", "<data:text/html,x>", "<https://a\"onclick=x>",
		"| a |\n|--|\n| <script>x</script> |", "<b onclick=x", "<textarea>", "[x](https://example.org/\"onmouseover=\"alert(1))", "mail evil@example.org", "www.example.org",
	}
	for _, to := range []string{
		"javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\tscript:x", "&#106;avascript:x", "data:text/html;base64,x", "vbscript:x", "file:///etc/passwd", "//evil.example.org", "/dashboard/session/end",
		"../../tasks/1/stop", "#main", "http:evil", "mailto:a@example.org", "https://", "\x00javascript:x", "blob:https://x",
	} {
		out = append(out, "[a]("+to+")", "[a](<"+to+">)", "<"+to+">", "![a]("+to+")")
	}
	return out
}

// Whatever is written, the page has tags of the subset alone, no attribute but an address of the web, and
// nothing is unseen.
func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	for _, text := range append(hostile(), strings.Join(hostile(), "\n\n"), strings.Join(hostile(), " ")) {
		html := string(markdown.Render(text))
		for _, tag := range tags.FindAllString(html, -1) {
			require.Regexp(t, allowed, tag, "%q became %s", text, html)
		}
		require.NotContains(t, tags.ReplaceAllString(html, ""), "<", text)
	}
	require.Contains(t, string(markdown.Render("<!-- the developer must also open port 22 -->")), "open port 22")
	require.Contains(t, string(markdown.Render("a <!-- unseen --> b")), "unseen")
	require.NotContains(t, string(markdown.Render("[a](javascript:alert(1))")), "javascript")
}

// A text that is as deep or as odd as it can be is rendered all the same; one that would take long is shown as it is.
func TestDeepDocuments(t *testing.T) {
	t.Parallel()
	for _, one := range []string{">", "> ", "- ", "[", "![", "*", "_", "`", "<", "[a](", "*a_", "1. ", "|", "~", "\\", "<!--", "&", "www.", "http://", "a@", "\t", "> - ", "*a **a "} {
		block := strings.Repeat(one, (8<<10)/len(one))
		require.NotPanics(t, func() { markdown.Render(block) }, one)
		for _, long := range []string{block + block, strings.Repeat(block+"\n\n", 9)} {
			require.Equal(t, "<pre>"+template.HTMLEscapeString(long)+"</pre>", string(markdown.Render(long)), one)
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, text := range hostile() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		html := string(markdown.Render(text))
		for _, tag := range tags.FindAllString(html, -1) {
			require.Regexp(t, allowed, tag)
		}
	})
}
