package worktest

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// judge makes the next attempt one that may write its questions and nothing else.
func (k *kit) judge() (questions string) {
	k.Space.Role, k.Space.Writes = stage.Reviewer, stage.Paths{Allow: []string{k.Space.Docs + "/questions.md"}}
	return k.Space.Docs + "/questions.md"
}

// outside asserts that nothing is taken, and where it is kept.
func (k *kit) outside(files map[string]string) *work.OutsideError {
	k.Helper()
	before := k.tip()
	_, err := k.Spaces.Take(k.Context(), k.Space)
	var outside *work.OutsideError
	require.ErrorAs(k, err, &outside)
	require.Equal(k, before, k.tip())
	require.True(k, strings.HasPrefix(outside.Left.Ref, "refs/signalbox/left/"+k.Space.WorkItem+"/"), outside.Left.Ref)
	for name, body := range files {
		require.Equal(k, body, k.file(outside.Left.SHA, name))
	}
	return outside
}

func refusesOutside(k *kit) {
	k.work(k.attempt(), "a.go", "package a\n")
	before := k.take()
	questions := k.judge()
	at := k.attempt()
	bad := map[string]string{questions: "why?\n", "a.go": "package evil\n", "z.go": "package z\n"}
	k.Agent(at.Dir, bad, true)
	require.Equal(k, []string{"a.go", "z.go"}, k.outside(bad).Paths)
	require.False(k, k.take().Changed, "nothing of the checkout counts any more")

	at = k.attempt()
	require.Empty(k, at.Left, "it is kept once")
	k.has(at, "a.go", "package a\n")
	k.has(at, questions, "")
	k.work(at, questions, "why?\n")
	tip := k.take()
	require.Equal(k, "why?\n", k.file(tip.SHA, questions))
	require.Contains(k, tip.SameCode, before.SHA)

	many := map[string]string{}
	for n := range work.OutsideMax + 3 {
		many[fmt.Sprintf("many/%02d.go", n)] = "package many\n"
	}
	k.Agent(k.attempt().Dir, many, true)
	outside := k.outside(many)
	require.Len(k, outside.Paths, work.OutsideMax)
	require.Equal(k, 3, outside.More)
	require.Contains(k, outside.Error(), "many/00.go, many/01.go")
	require.Contains(k, outside.Error(), " and 3 more")
}

func startsClean(k *kit) {
	k.attempt()
	questions := k.judge()
	k.work(k.attempt(), "a.go", "package evil\n") // and it dies before that is taken
	at := k.attempt()
	require.NotEmpty(k, at.Left)
	k.has(at, "a.go", "")
	k.work(at, questions, "why?\n")
	k.Space.Role, k.Space.Writes = stage.Developer, stage.Paths{}
	at = k.attempt()
	require.NotEmpty(k, at.Left)
	k.has(at, questions, "")
	require.Equal(k, "why?\n", k.file(at.Left.SHA, questions))
}

func closesOutside(k *kit) {
	k.judge()
	at := k.attempt()
	before := k.tip()
	k.work(at, "a.go", "package evil\n")
	k.Space.Role, k.Space.Writes = "", stage.Paths{} // Close is called outside of any attempt
	require.NoError(k, k.Spaces.Close(k.Context(), k.Space))
	require.Equal(k, before, k.tip())
}

func lists(k *kit) {
	at := k.attempt()
	k.Agent(at.Dir, map[string]string{"ci/a.yml": "a", "src/a.go": "a"}, true)
	first := k.take().SHA
	k.Agent(at.Dir, map[string]string{"ci/b.yml": "b", "src/a.go": "b"}, true)
	second := k.take().SHA
	changed := func(from, to string, patterns ...string) []string {
		list, err := k.Spaces.Changed(k.Context(), k.Space, from, to, patterns)
		require.NoError(k, err)
		return list
	}
	require.Equal(k, []string{"ci/a.yml"}, changed("", first, "ci", "nothing"))
	require.Equal(k, []string{"ci/a.yml", "ci/b.yml"}, changed("", second, "ci/*"))
	require.Equal(k, []string{"ci/b.yml", "src/a.go"}, changed(first, second, "**"))
	require.Equal(k, []string{"ci/b.yml"}, changed(second, first, "ci"), "whichever came first")
	require.Empty(k, changed(second, second, "**"))
	_, err := k.Spaces.Changed(k.Context(), k.Space, "", strings.Repeat("0", 39)+"1", []string{"**"})
	require.Error(k, err)
}

func diffs(k *kit) {
	at := k.attempt()
	k.Agent(at.Dir, map[string]string{
		"ci/a.yml": "on: push\n", "src/a b.go": "package a\ndiff --git a/x b/x\n", "ci/\"odd\ttab\".yml": "odd\n", "z.go": "last\n",
		".gitattributes": "* -diff\n* diff=evil\n", "src/.gitattributes": "* binary\n",
	}, true)
	sha := k.take().SHA
	read := func(sha string) (work.Diff, map[string]string) {
		d, err := k.Spaces.Diff(k.Context(), k.Space, "", sha)
		require.NoError(k, err)
		texts := map[string]string{}
		for _, f := range d.Files {
			texts[f.Path] = f.Text
		}
		return d, texts
	}
	d, texts := read(sha)
	require.False(k, d.Cut)
	require.Equal(k, k.tip().Base, d.Base)
	for name, line := range map[string]string{
		"ci/a.yml":            "\n+on: push\n",
		"src/a b.go":          "\n+diff --git a/x b/x\n",
		"ci/\"odd\ttab\".yml": "\n+odd\n",
		"z.go":                "\n+last\n",
	} {
		require.Contains(k, texts[name], line, "attributes hide nothing, and each file has its own lines")
	}
	require.NotContains(k, texts["z.go"], "odd")
	k.work(at, "src/long.txt", strings.Repeat("long\n", work.DiffMax/4))
	d, texts = read(k.take().SHA)
	require.True(k, d.Cut)
	require.Contains(k, texts, "z.go")
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	require.LessOrEqual(k, size, work.DiffMax)
	_, err := k.Spaces.Diff(k.Context(), k.Space, "", strings.Repeat("0", 39)+"1")
	require.Error(k, err)
	k.Agent(at.Dir, map[string]string{"src/long.txt": "short\n", "z.go": "last\nnow\n"}, true)
	since, err := k.Spaces.Diff(k.Context(), k.Space, sha, k.take().SHA)
	require.NoError(k, err)
	require.Equal(k, sha, since.Base)
	require.Len(k, since.Files, 2, "what was there before is no change")
	require.Contains(k, since.Files[1].Text, "\n+now\n")
	_, err = k.Spaces.Diff(k.Context(), k.Space, strings.Repeat("0", 39)+"1", sha)
	require.Error(k, err)
}
