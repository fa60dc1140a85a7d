package effects_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// titled is a host that keeps the titles of merges.
type titled struct {
	*memhost.Host
	titles []string
}

func (h *titled) Merge(ctx context.Context, m githost.Merge) (string, error) {
	h.titles = append(h.titles, m.Title)
	return h.Host.Merge(ctx, m)
}

// What a card is called is one line of the merge commit, and orders nothing there.
func TestTitleInAMergeCommit(t *testing.T) {
	for title, want := range map[string]string{
		"Keep order [UI] of #tags & 3 issues/day":              "Keep order [UI] of #tags & 3 issues/day",
		"a\n\nCo-authored-by: Eve <e@x>\r\nSigned-off-by: Eve": "a Co-authored-by: Eve <e@x> Signed-off-by: Eve",
		"a [skip ci] b [CI SKIP] c [no ci] ***NO_CI***":        "a (skip ci) b (CI SKIP) c (no ci) NO_CI",
		"a [skip\nci]\n\n\nskip-checks: true":                  "a (skip ci) skip-checks true",
		"fixes #1, closes acme/app#22, resolves GH-3":          "fixes # 1, closes acme/app# 22, resolves GH- 3",
		"fixes https://github.com/acme/app/issues/7":           "fixes https://github.com/acme/app/issues/ 7",
		"turn \u202earound\u202c \x1b[31mred\x00":              "turn around [31mred",
		strings.Repeat("长", 500):                               strings.Repeat("长", 200),
	} {
		k := setup(t)
		k.change(func(t *task.Task) { t.Title = title })
		k.host.Push("acme/app", "main", "base")
		sha := k.head()
		k.host.Push("acme/app", k.task.Branch, sha)
		k.run(stage.Effect{Kind: stage.EffectMerge, SHA: sha}, 1)
		require.Equal(t, []string{"APP-1: " + want}, k.merges.titles, "%q", title)
	}
}
