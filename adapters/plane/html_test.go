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

func TestStripHTML(t *testing.T) {
	for in, want := range map[string]string{
		"":                                     "",
		"<p></p>":                              "",
		"<p>a</p><p>b</p>":                     "a\n\nb",
		"a<br>b<br/>c<br />d":                  "a\nb\nc\nd",
		"<script>alert(1)</script>x":           "x",
		"<style>p{}</style >y":                 "y",
		"<script>never closed":                 "",
		"1 < 2 &amp;&amp; 3 &gt; 2":            "1 < 2 && 3 > 2",
		"<!-- c -->z":                          "z",
		"&nbsp; &nbsp;":                        "",
		"<ul><li>one</li><li>two</li></ul>":    "one\ntwo",
		"<img src=x onerror=alert(1)>":         "",
		"<p>\u200b</p>":                        "",
		strings.Repeat("<p>", 5000) + "deep":   "deep",
		"<a href='https://x'>l</a><unclosed ":  "l<unclosed",
		"<P>Up</P><DIV>per</DIV>":              "Up\n\nper",
		"<p>keeps   inner   blanks &copy;</p>": "keeps   inner   blanks ©",
	} {
		require.Equal(t, want, plane.StripHTML(in), in)
	}
}

func FuzzHTML(f *testing.F) {
	f.Add("<p>a & b</p>")
	f.Fuzz(func(t *testing.T, text string) {
		out := plane.EscapeHTML(text)
		if strings.ContainsAny(strings.NewReplacer("<p>", "", "</p>", "", "<br/>", "").Replace(out), "<>") {
			t.Fatalf("markup of the text survives: %q", out)
		}
		plane.StripHTML(text)
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

func TestStripHTMLEdges(t *testing.T) {
	for in, want := range map[string]string{
		`<a title="1 > 0" href='x>y'>link</a>!`:           "link!",
		`<a title="never closed>text</a>`:                 "text",
		"it's <b class=x>5' tall</b>, isn't it":           "it's 5' tall, isn't it",
		"<SCRIPT>if (a</b>1) x()</SCRIPT >after":          "after",
		"<script></scripts></script>after":                "after",
		"<!-- a > b --><p>kept</p><!-- open":              "kept",
		"<!DOCTYPE html>x":                                "x",
		"<h1>Title</h1>text<h2>Next</h2><p>p</p>":         "Title\ntext\nNext\n\np",
		"<table><tr><td>a</td><td>b</td></tr></table>c":   "a  b\nc",
		"<p\nclass='x'>a<br\t/>b</p>":                     "a\nb",
		"&lt;b&gt;bold&lt;/b&gt;":                         "<b>bold</b>",
		"a<1 b<=2 c<>d </ e":                              "a<1 b<=2 c<>d </ e",
		"<p>مرحبا \u202eabc\u202c 👩‍👩‍👧</p>":              "مرحبا \u202eabc\u202c 👩‍👩‍👧",
		"<p>" + strings.Repeat("я", 10000) + "</p>":       strings.Repeat("я", 10000),
		"<ul><li><p>one</p></li><li><p>two</p></li></ul>": "one\n\ntwo",
	} {
		require.Equal(t, want, plane.StripHTML(in), in)
	}
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
		require.Equal(t, want, plane.StripHTML(plane.EscapeHTML(in)), in)
	}
}

// A hostile description must not hold a worker: these would take hours if each
// "<" were looked at together with all that follows it.
func TestStripHTMLIsLinear(t *testing.T) {
	const n = 1 << 20
	for _, part := range []string{"<", "<a", "<a '", "<a='", "</", "<!", "<!--", "<script>", "<1>", `<a b="`, "<script></", "&"} {
		plane.StripHTML(strings.Repeat(part, n/len(part)))
		plane.StripHTML(strings.Repeat(part, n/len(part)) + ">")
	}
}
