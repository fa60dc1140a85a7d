package worktest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// faults runs the suite of package fault for the calls that need the remote.
func faults(t *testing.T, open func(t *testing.T) Fixture) {
	for call, trial := range map[string]func(*kit) faulttest.Trial{
		"Begin": beginning, "Push": pushing, "CatchUp": catchingUp, "Drop": dropping, "Adopt": adopting,
	} {
		t.Run(call, func(t *testing.T) {
			faulttest.Run(t, func(t *testing.T) faulttest.Trial {
				k := &kit{T: t, Fixture: open(t)}
				x := trial(k)
				x.Fail, x.Repeats, x.Mute = func(how faulttest.Kind) { k.Fail(call, how) }, true, k.Mute
				return x
			})
		})
	}
}

func beginning(k *kit) faulttest.Trial {
	other := k.Space
	other.WorkItem, other.Branch = other.WorkItem+"0", other.Branch+"-0"
	require.NoError(k, k.Spaces.Begin(k.Context(), other, nil))
	return faulttest.Trial{
		Call: func(ctx context.Context) error {
			return k.Spaces.Begin(ctx, k.Space, []work.File{{Path: "a.md", Body: []byte("a")}})
		},
		Others: func() { k.reads(other) },
		Done: func() int {
			if k.tip().SHA != "" {
				return 1
			}
			return 0
		},
	}
}

func pushing(k *kit) faulttest.Trial {
	k.attempt()
	sha := k.take().SHA
	return faulttest.Trial{
		Call: func(ctx context.Context) error { return k.Spaces.Push(ctx, k.Space, sha, "") },
		Others: func() {
			k.reads(k.Space)
			_, err := k.Spaces.MainTip(k.Context(), k.Space)
			require.NoError(k, err)
			k.MoveMain()
			_, err = k.Spaces.SameTree(k.Context(), k.Space, sha, sha)
			require.NoError(k, err)
		},
		Done: func() int {
			if k.Remote(k.Space.Branch) == sha {
				return 1
			}
			return 0
		},
	}
}

func adopting(k *kit) faulttest.Trial {
	_, sha := k.published()
	theirs := k.Push("", map[string]string{"theirs.go": "package a\n"})
	return faulttest.Trial{
		Call: func(ctx context.Context) error {
			_, err := k.Spaces.Adopt(ctx, k.Space, sha)
			return err
		},
		Others: func() { k.reads(k.Space) },
		Done: func() int {
			if k.tip().SHA == theirs {
				return 1
			}
			return 0
		},
	}
}

func catchingUp(k *kit) faulttest.Trial {
	at := k.attempt()
	k.work(at, "a.go", "package a\n")
	before := k.take().SHA
	k.MoveMain()
	return faulttest.Trial{
		Call: func(ctx context.Context) error {
			_, err := k.Spaces.CatchUp(ctx, k.Space, true)
			return err
		},
		Others: func() { k.reads(k.Space) },
		Done: func() int {
			if k.tip().SHA != before {
				return 1
			}
			return 0
		},
	}
}

func dropping(k *kit) faulttest.Trial {
	k.attempt()
	require.NoError(k, k.Spaces.Push(k.Context(), k.Space, k.take().SHA, ""))
	return faulttest.Trial{
		Call: func(ctx context.Context) error { return k.Spaces.Drop(ctx, k.Space, k.Space.WorkItem+"-7") },
		Others: func() {
			_, err := k.Spaces.MainTip(k.Context(), k.Space)
			require.NoError(k, err)
		},
		Done: func() int {
			if k.Remote(k.Space.Branch) == "" {
				return 1
			}
			return 0
		},
	}
}

// reads makes the calls that need no remote.
func (k *kit) reads(s work.Workspace) {
	k.Helper()
	tip, err := k.Spaces.Tip(k.Context(), s)
	require.NoError(k, err)
	_, err = k.Spaces.Files(k.Context(), s, tip.SHA)
	require.NoError(k, err)
	_, err = k.Spaces.Take(k.Context(), s)
	require.NoError(k, err)
}
