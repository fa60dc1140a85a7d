package memwork_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

func space() work.Space {
	return work.Space{Repo: "acme/app", CloneURL: "u", Main: "main", Branch: "feature/x", WorkItem: "APP-1", Docs: "docs/work/APP-1"}
}

func TestPlace(t *testing.T) {
	ctx, s := t.Context(), space()
	var pushed []string
	p := memwork.New(func(_ context.Context, c work.Command, files map[string]string) work.Result {
		files["src/"+string(c.Role)] = "x"
		return work.Result{Kind: work.ResultOK}
	})
	p.OnPush = func(_, branch, sha string) { pushed = append(pushed, branch+" "+sha[:4]) }
	dir, err := p.Open(ctx, s, []work.File{{Path: "docs/work/APP-1/request.md", Body: []byte("r")}})
	require.NoError(t, err)
	first, err := p.Take(ctx, s)
	require.NoError(t, err)
	require.False(t, first.Changed)
	require.Len(t, first.SameCode, 2, "the request does not change the code")
	p.Run(ctx, work.Command{Dir: dir, Role: "developer"})
	tip, err := p.Take(ctx, s)
	require.NoError(t, err)
	require.True(t, tip.Changed)
	require.Equal(t, []string{tip.SHA}, tip.SameCode)
	require.NoError(t, p.Push(ctx, s, tip.SHA, ""))
	require.NoError(t, p.Push(ctx, s, tip.SHA, ""))
	require.Len(t, pushed, 1)
	require.ErrorIs(t, p.Push(ctx, s, first.SHA, ""), work.ErrMoved)
	require.NoError(t, p.Push(ctx, s, first.SHA, tip.SHA))
	protected := s
	protected.Branch = "main"
	require.ErrorIs(t, p.Push(ctx, protected, tip.SHA, ""), work.ErrProtected)
	tree, err := p.Files(ctx, s, tip.SHA)
	require.NoError(t, err)
	_, err = fs.Stat(tree, "src/developer")
	require.NoError(t, err)
	require.NoError(t, p.Close(ctx, s))
	require.Empty(t, p.Checkouts())
	down := errors.New("down")
	p.FailWith(down)
	_, err = p.Open(ctx, s, nil)
	require.ErrorIs(t, err, down)
}

func Example() {
	p := memwork.New(func(_ context.Context, c work.Command, files map[string]string) work.Result {
		files["hello.txt"] = "from " + string(c.Role)
		return work.Result{Kind: work.ResultOK, Summary: "done"}
	})
	s := work.Space{Repo: "acme/app", CloneURL: "u", Main: "main", Branch: "feature/x", WorkItem: "APP-1", Docs: "docs"}
	dir, _ := p.Open(context.Background(), s, nil)
	res := p.Run(context.Background(), work.Command{Dir: dir, Role: "developer"})
	tip, err := p.Take(context.Background(), s)
	fmt.Println(res.Summary, tip.Changed, err)
	// Output: done true <nil>
}
