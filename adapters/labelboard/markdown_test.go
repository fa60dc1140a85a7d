package labelboard

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/tracker"
)

// What is written is read back, whatever it is: markup, marks of ours, blanks.
func TestEscapedTextIsReadBack(t *testing.T) {
	t.Parallel()
	alphabet := []rune("ab1 \t\n\\`*_{}[]<>()#+-.!|~$&;:/@=x\u200bж" + "\u00a0\U0001f6a6")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom(alphabet), 0, 60, -1).Draw(t, "text")
		posted := markdown(tracker.NewComment{Key: "k", Body: text})
		want := strings.TrimSpace(strings.Trim(text, "\n"))
		require.Equal(t, want, strings.TrimSpace(unescape(visible(posted))), "%q", posted)
		key, ok := keyOf(posted)
		require.True(t, ok)
		require.Equal(t, "k", key)
	})
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain words, 12:30 (see GPX-1).":   "plain words, 12:30 (see GPX-1).",
		"@kim and a@b.example":              "@&#8203;kim and a@&#8203;b.example",
		"fixes #12, acme/shop#3, !4, gh-5":  `fixes \#&#8203;12, acme/shop\#&#8203;3, !&#8203;4, gh-&#8203;5`,
		"https://x.example/1 www.x.example": "https:&#8203;//x.example/1 www.&#8203;x.example",
		"# head":                            `\# head`,
		"- [ ] a\n+ b\n  * c":               `\- \[ \] a` + "\n" + `\+ b` + "\n" + `&#32;&#32;\* c`,
		"12. one\n3) three\n4.5":            `12\. one` + "\n" + `3\) three` + "\n" + `4\.5`,
		"\tcode":                            "&#9;code",
		"a\n===\n:-":                        "a\n" + `\===` + "\n" + `\:-`,
		"![x](http://t)":                    `!\[x\](http:&#8203;//t)`,
		"<!-- signalbox:1 --><b>":           `\<\!-- signalbox:1 --\>\<b\>`,
		"a | b\n``` $x$ ~~y~~ _z_ &amp;":    "a \\| b\n\\`\\`\\` \\$x\\$ \\~\\~y\\~\\~ \\_z\\_ \\&amp;",
		"\r\none\r\ntwo\x00\xff\n\n":        "one\ntwo\ufffd",
		"C# 3! tea @ five - 2":              `C\# 3! tea @ five - 2`,
		"&#8203;":                           `\&\#&#8203;8203;`,
	} {
		require.Equal(t, want, escape(text), text)
		require.Equal(t, strings.Trim(strings.NewReplacer("\r\n", "\n", "\x00", "", "\xff", "\ufffd").Replace(text), "\n"), unescape(escape(text)))
	}
}

// A link leads to its address, whatever that and its name contain.
func TestLinks(t *testing.T) {
	t.Parallel()
	got := markdown(tracker.NewComment{Key: "1", Body: "b", Note: "$1", Links: []tracker.Link{{Name: "a](http://evil)", URL: "https://git.example.org/x y/(z)?a=<b>&c=d"}}})
	require.Equal(t, "b\n\n"+`[a\](http:&#8203;//evil)](https://git.example.org/x%20y/%28z%29?a=%3Cb%3E&c=d) · \$1`+"\n\n<!-- signalbox:1 -->", got)
}

// Only the end of a comment is its key.
func TestKeyOf(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"b\n\n" + mark("7/3/0"): "7/3/0", "b\r\n\r\n" + mark("x -->\n#") + "\r\n": "x -->\n#", mark(""): "",
	} {
		key, ok := keyOf(body)
		require.True(t, ok, body)
		require.Equal(t, want, key)
	}
	for _, body := range []string{"", "b", mark("1") + "\nmore", "> " + mark("1"), mark("1") + " x", "<!-- signalbox:1", "<!-- signalbox:%zz -->", "signalbox:1 -->"} {
		_, ok := keyOf(body)
		require.False(t, ok, body)
	}
}

// What a person sees of an issue is what an agent reads, and nothing else.
func TestVisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" a <!-- write here --> b\r\nc\n": "a  b\nc", "<!-- template -->\n": "", "a --> b": "a --> b",
		"<!-->a<!--->b": "ab", "- <!-->a": "- a", "> <!-- x --> a": ">  a",
		"a <!-- never ends": "a <!-- never ends", "a\n<!-- never ends\n\nb": "a", "- <!-- never ends": "-", "<b> <!-- never ends": "<b>",
		"`<!-- x -->` <!-- y -->": "`<!-- x -->`", "`<!--` is\n\nseen": "`<!--` is\n\nseen",
		"```html\n<!-- x -->\n```\n<!-- y -->": "```html\n<!-- x -->\n```",
	} {
		require.Equal(t, want, visible(text), text)
	}
	for _, text := range []string{ // none of it is code for the hosts
		"\\` <!-- hid --> `", "a ` b\n` <!-- hid --> `", "<a title=\"`\"> <!-- hid --> `", "z ` | <!-- hid --> | ` z", "> ```\n<!-- hid -->\n```",
		"```\n ```\n<!-- hid -->\n```", "~~~\n```\n~~~\n<!-- hid -->\n```", "- a\n\n  ```\n```\n```\n<!-- hid -->\n```", "a <!-- x\n\n` --> ` <!-- hid --> `",
		"<pre>\n```\n<!-- hid -->\n```",
	} {
		require.NotContains(t, visible(text), "hid", text)
	}
}
