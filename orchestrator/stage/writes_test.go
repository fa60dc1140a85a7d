package stage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

func TestMatchPath(t *testing.T) {
	for pattern, c := range map[string]struct{ yes, no []string }{
		"tests/**":      {[]string{"tests/a", "tests/a/b.go", "tests"}, []string{"test/a", "a/tests/b", "testsx", "Tests/a"}},
		"docs":          {[]string{"docs", "docs/a", "docs/a/b"}, []string{"docs2", "a/docs"}},
		"docs/*.md":     {[]string{"docs/a.md", "docs/a.md/b"}, []string{"docs/a/b.md", "docs/a.txt", "docs"}},
		"**/CODEOWNERS": {[]string{"CODEOWNERS", "a/b/CODEOWNERS"}, []string{"CODEOWNERS2", "a/codeowners"}},
		"a/**/z":        {[]string{"a/z", "a/b/z", "a/b/c/z/y"}, []string{"a", "a/b", "z"}},
		"**":            {[]string{"a", "a/b"}, nil},
		"a?[bc]":        {[]string{"axb", "a.c/d"}, []string{"ab", "axd"}},
	} {
		require.NoError(t, stage.CheckPatterns([]string{pattern}))
		for _, name := range c.yes {
			require.True(t, stage.MatchPath([]string{"nothing", pattern}, name), "%s: %s", pattern, name)
		}
		for _, name := range c.no {
			require.False(t, stage.MatchPath([]string{pattern}, name), "%s: %s", pattern, name)
		}
	}
}

func TestCheckPatterns(t *testing.T) {
	for _, bad := range []string{"", ".", "..", "../a", "/a", "a/", "a//b", "./a", `a\b`, "a\nb", "[", "a**", "a/b**/c"} {
		require.Error(t, stage.CheckPatterns([]string{"ok", bad}), bad)
	}
	require.ErrorContains(t, stage.CheckWrites("Cook!", nil), "no name of a role")
	require.ErrorContains(t, stage.CheckWrites(stage.Developer, []string{"a"}), "already")
}

// The table of what roles may change, read as a whole.
func TestWrites(t *testing.T) {
	const docs = "docs/work/X-1"
	for _, c := range []struct {
		i       stage.Info
		l       stage.Launch
		yes, no []string
	}{
		{stage.Info{}, stage.Launch{Role: stage.Analyst}, []string{docs + "/requirements.md", docs + "/img/a.png"}, []string{"src/a.go", "docs/work/X-12/a.md", ".github/workflows/ci.yml"}},
		{stage.Info{}, stage.Launch{Role: stage.Architect}, []string{docs + "/design.md"}, []string{"docs/other.md"}},
		{stage.Info{}, stage.Launch{Role: stage.Developer}, []string{"src/a.go", docs + "/design.md", "docs/work/X-2/review.md"}, []string{docs + "/review.md", docs + "/test-report.md", docs + "/staging-report.md", docs + "/deploy-report.md"}},
		{stage.Info{}, stage.Launch{Role: stage.Reviewer}, []string{docs + "/questions.md"}, []string{docs + "/review.md", "a.go", docs + "/requirements.md"}},
		{stage.Info{}, stage.Launch{Role: stage.Tester}, []string{docs + "/questions.md"}, []string{"tests/a_test.go"}},
		{stage.Info{}, stage.Launch{Role: stage.Deployer, Phase: stage.PhaseAwait}, []string{docs + "/questions.md", docs + "/deploy-plan.md"}, []string{"a.go"}},
		{stage.Info{}, stage.Launch{Role: stage.Deployer, Phase: stage.PhaseRelease}, []string{docs + "/questions.md"}, []string{docs + "/deploy-plan.md"}},
		{stage.Info{}, stage.Launch{Role: "another"}, []string{docs + "/questions.md"}, []string{"a.go"}},
		{stage.Info{Stage: "security", Report: "security.md"}, stage.Launch{Role: "auditor"}, []string{docs + "/questions.md"}, []string{"a.go", docs + "/security.md"}},
		{stage.Info{Stage: "costs"}, stage.Launch{Role: "buyer"}, []string{docs + "/costs.md"}, []string{"a.go"}},
	} {
		set := c.i.Writes(c.l, docs, nil)
		for _, name := range c.yes {
			require.True(t, set.Has(name), "%s: %s", c.l.Role, name)
		}
		for _, name := range c.no {
			require.False(t, set.Has(name), "%s: %s", c.l.Role, name)
		}
	}
	require.Equal(t, "only docs/work/X-1/questions.md, tests/**", stage.Info{}.Writes(stage.Launch{Role: stage.Tester}, docs, []string{"tests/**"}).String())
}
