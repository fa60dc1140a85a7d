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

func space() work.Workspace {
	return work.Workspace{Repo: "acme/app", CloneURL: "u", Main: "main", Branch: "feature/x", WorkItem: "APP-1", Task: 1, Identity: "1.1000", Docs: "docs/work/APP-1"}
}

func TestPlace(t *testing.T) {
	ctx, s := t.Context(), space()
	var pushed []string
	p := memwork.New(func(_ context.Context, c work.Command, files map[string]string) work.Result {
		files["src/"+string(c.Role)] = "x"
		return work.Result{Kind: work.ResultOK}
	})
	p.OnPush = func(_, branch, sha string) { pushed = append(pushed, branch+" "+sha[:4]) }
	at, err := p.Open(ctx, s, []work.File{{Path: "docs/work/APP-1/request.md", Body: []byte("r")}})
	require.NoError(t, err)
	first, err := p.Take(ctx, s)
	require.NoError(t, err)
	require.False(t, first.Changed)
	require.Len(t, first.SameCode, 2, "the request does not change the code")
	p.Run(ctx, work.Command{Dir: at.Dir, Role: "developer"})
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
	s := work.Workspace{Repo: "acme/app", CloneURL: "u", Main: "main", Branch: "feature/x", WorkItem: "APP-1", Task: 1, Docs: "docs"}
	at, _ := p.Open(context.Background(), s, nil)
	res := p.Run(context.Background(), work.Command{Dir: at.Dir, Role: "developer"})
	tip, err := p.Take(context.Background(), s)
	fmt.Println(res.Summary, tip.Changed, err)
	// Output: done true <nil>
}

func TestRebase(t *testing.T) {
	ctx, s := t.Context(), space()
	p := memwork.New(func(_ context.Context, _ work.Command, files map[string]string) work.Result {
		files["src/a.go"] = "x"
		return work.Result{Kind: work.ResultOK}
	})
	at, err := p.Open(ctx, s, nil)
	require.NoError(t, err)
	p.Run(ctx, work.Command{Dir: at.Dir, Role: "developer"})
	before, err := p.Take(ctx, s)
	require.NoError(t, err)
	same, err := p.CatchUp(ctx, s, true)
	require.NoError(t, err)
	require.Equal(t, before.SHA, same.SHA, "main has not moved")

	p.SetRemote(s.Repo, s.Main, "m1")
	main, err := p.MainTip(ctx, s)
	require.NoError(t, err)
	require.Equal(t, "m1", main)
	p.SetConflict(s.Repo, s.Branch, "src/a.go")
	_, err = p.CatchUp(ctx, s, true)
	var conflict *work.Conflict
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, &work.Conflict{Base: "m1", Files: []string{"src/a.go"}}, conflict)
	p.SetConflict(s.Repo, s.Branch)
	got, err := p.CatchUp(ctx, s, true)
	require.NoError(t, err)
	require.NotEqual(t, before.SHA, got.SHA)
	require.Equal(t, "m1", got.Base)
	after, err := p.Take(ctx, s)
	require.NoError(t, err)
	require.Equal(t, got.SHA, after.SHA)
	require.False(t, after.Changed, "the mirror has it already")
	tree, err := p.Files(ctx, s, after.SHA)
	require.NoError(t, err)
	_, err = fs.Stat(tree, "src/a.go")
	require.NoError(t, err, "the work is still there")

	ok, err := p.SameTree(ctx, s, got.SHA, "x")
	require.NoError(t, err)
	require.True(t, ok)
	p.SpoilTree(got.SHA)
	ok, err = p.SameTree(ctx, s, got.SHA, "x")
	require.NoError(t, err)
	require.False(t, ok)
}
