package plane_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// markdown is a fragment as Markdown, where Kim is u1 and files are at /f/.
func markdown(fragment string) string {
	return plane.ToMarkdown(fragment, map[string]tracker.Person{"u1": {Name: "Kim"}}, "/f/")
}

// The fragments are as Plane 1.3 stores what people write in its editor.
func TestMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"<p></p>":                 "",
		"<p>\u200b</p>":           "",
		"&nbsp; &nbsp;":           "",
		"<p>a</p><p>b</p>":        "a\n\nb",
		"a<br>b<br/>c<br />d":     "a\nb\nc\nd",
		"<P>Up</P><DIV>per</DIV>": "Up\n\nper",
		`<h2 class="editor-heading-block">Why</h2><p class="editor-paragraph-block">It <strong>is</strong> <em>slow</em></p>`: "## Why\n\nIt **is** *slow*",
		`<p>See <a target="_blank" rel="noopener" href="https://figma.example/x">mockup</a>.</p>`:                             "See [mockup](https://figma.example/x).",
		"<pre><code class=\"language-go\">func a() {\n\tgo test\n}</code></pre>":                                              "```go\nfunc a() {\n\tgo test\n}\n```",
		"<ol><li><p>one</p><ul><li><p>two</p></li></ul></li></ol>":                                                            "1. one\n\n   - two",
		`<ul data-type="taskList"><li data-checked="true" data-type="taskItem"><label><input type="checkbox" checked="checked"><span></span></label><div><p>done</p></div></li>` +
			`<li data-checked="false" data-type="taskItem"><label><input type="checkbox"><span></span></label><div><p>open</p></div></li></ul>`: "- [x] done\n- [ ] open",
		"<table><tbody><tr><th><p>a</p></th><th><p>b</p></th></tr><tr><td><p>1</p></td><td><p>2</p></td></tr></tbody></table>":                                                   "| a | b |\n|---|---|\n| 1 | 2 |",
		`<p>Ask <mention-component entity_identifier="u1" entity_name="user_mention"></mention-component> or <mention-component entity_identifier="u2"></mention-component></p>`: "Ask @Kim or @u2",
		`<image-component src="0a1b" width="50%"></image-component><img src="https://x.example/y.png" alt="shot">`:                                                               "![image](/f/0a1b/)![shot](https://x.example/y.png)",
		"<p>snake_case, 2*3*4, # one, [x]</p>": "snake_case, 2*3*4, # one, [x]",
		"1 < 2 &amp;&amp; 3 &gt; 2":            "1 < 2 && 3 > 2",
		"&lt;b&gt;bold&lt;/b&gt;":              "<b>bold</b>",
		"<p>keeps &copy; مرحبا 👩‍👩‍👧</p>":      "keeps © مرحبا 👩‍👩‍👧",
		"<script>alert(1)</script>x":           "x",
		"<style>p{}</style >y":                 "y",
		"<!-- c -->z":                          "z",
		"<img src=x onerror=alert(1)>":         "![](x)",
		strings.Repeat("<div>", 600) + "deep":  strings.Repeat("<div>", 600) + "deep",
	} {
		require.Equal(t, want, markdown(in), in)
	}
}

func FuzzHTML(f *testing.F) {
	f.Add("<p>a & b</p>")
	f.Fuzz(func(t *testing.T, text string) {
		out := plane.EscapeHTML(text)
		if strings.ContainsAny(strings.NewReplacer("<p>", "", "</p>", "", "<br/>", "").Replace(out), "<>") {
			t.Fatalf("markup of the text survives: %q", out)
		}
		markdown(text)
	})
}

func FuzzDecode(f *testing.F) {
	c, err := plane.New(plane.Options{BaseURL: "http://x", Workspace: "w", Token: "t"})
	require.NoError(f, err)
	f.Add("issue", []byte(`{"event":"issue","action":"updated","data":{"id":"a","project":"b"},"activity":{"field":"state"}}`))
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		h, err := c.Decode(event, body)
		if err == nil && h.Kind != tracker.HookOther && (h.ItemID == "" || h.ProjectID == "") {
			t.Fatalf("half a hook: %+v", h)
		}
	})
}

func Example() {
	board := planetest.New(planetest.Options{Tokens: map[string]string{"token": "bot"}})
	defer board.Close()
	srv := httptest.NewServer(board)
	defer srv.Close()
	project := board.AddProject("GPX", "To Analyse", "In Progress")
	id, err := board.AddItem(project, "Cache tiles", "<p>They are slow.</p>")
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := plane.New(plane.Options{BaseURL: srv.URL, Workspace: "acme", Token: "token"})
	if err != nil {
		fmt.Println(err)
		return
	}
	item, err := c.Item(context.Background(), project, id)
	fmt.Println(item.Status, item.Description, err)
	err = c.SetStatus(context.Background(), project, id, stage.StatusConfirmDeploy)
	fmt.Println(errors.Is(err, tracker.ErrNoStatus))
	// Output:
	// to_analyse They are slow. <nil>
	// true
}

// What is written is read back, apart from blanks at the ends of lines.
func TestEscapedTextComesBack(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"<script>x</script> & \"q\"": "<script>x</script> & \"q\"",
		"a\r\nb\rc\n\n\n\nd":         "a\nb\nc\n\nd",
		"\xff\x00ok":                 "\ufffdok",
		"&amp; <br> &lt;":            "&amp; <br> &lt;",
	} {
		require.Equal(t, want, markdown(plane.EscapeHTML(in)), in)
	}
}

// A hostile description must not hold a worker: these would take hours if each
// "<" were looked at together with all that follows it.
func TestMarkdownIsLinear(t *testing.T) {
	const n = 1 << 20
	for _, part := range []string{"<", "<a", "<a '", "<a='", "</", "<!", "<!--", "<script>", "<1>", `<a b="`, "<script></", "&"} {
		markdown(strings.Repeat(part, n/len(part)))
		markdown(strings.Repeat(part, n/len(part)) + ">")
	}
}
