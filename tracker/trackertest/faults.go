package trackertest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// faults runs the suite of package fault for the calls that write.
func faults(t *testing.T, open func(t *testing.T) Fixture) {
	for call, trial := range map[string]func(*testing.T, Fixture) faulttest.Trial{
		"AddComment": commenting, "SetStatus": setting,
	} {
		t.Run(call, func(t *testing.T) {
			faulttest.Run(t, func(t *testing.T) faulttest.Trial {
				f := open(t)
				f.canFail(t)
				x := trial(t, f)
				x.Fail, x.Repeats = func(k faulttest.Kind) { f.Fail(call, k) }, true
				return x
			})
		})
	}
}

func commenting(t *testing.T, f Fixture) faulttest.Trial {
	p, id := f.card()
	said := func() int {
		list, err := f.Tracker.Comments(t.Context(), p, id)
		require.NoError(t, err)
		return len(list)
	}
	return faulttest.Trial{
		Call: func(ctx context.Context) error {
			own := tracker.NewComment{ProjectID: p, ItemID: id, Author: stage.Reviewer, Key: "9/1/0", Body: "b"}
			_, err := f.Tracker.AddComment(ctx, own)
			return err
		},
		Others: func() {
			require.NoError(t, f.Tracker.SetStatus(t.Context(), p, id, stage.StatusDone))
			f.reads(t, p, id)
		},
		Done: said,
	}
}

func setting(t *testing.T, f Fixture) faulttest.Trial {
	p, id := f.card()
	return faulttest.Trial{
		Call: func(ctx context.Context) error { return f.Tracker.SetStatus(ctx, p, id, stage.StatusBlocked) },
		Others: func() {
			_, err := f.Tracker.AddComment(t.Context(), tracker.NewComment{ProjectID: p, ItemID: id, Key: "9/1/0", Body: "b"})
			require.NoError(t, err)
			f.reads(t, p, id)
		},
		Done: func() int {
			item := f.item(t, p, id)
			if item.Status == stage.StatusBlocked {
				return 1
			}
			return 0
		},
	}
}

// canFail is needed of each fixture.
func (f Fixture) canFail(t *testing.T) {
	t.Helper()
	require.NotNil(t, f.Fail, "Fixture.Fail is nil: the suite needs a way to have one call of the tracker fail")
}

// reads makes the calls that read.
func (f Fixture) reads(t *testing.T, project, item string) {
	t.Helper()
	_, err := f.Tracker.Item(t.Context(), project, item)
	require.NoError(t, err)
	_, err = f.Tracker.List(t.Context(), tracker.Query{ProjectID: project})
	require.NoError(t, err)
	_, err = f.Tracker.Comments(t.Context(), project, item)
	require.NoError(t, err)
	_, err = f.Tracker.Columns(t.Context(), project)
	require.NoError(t, err)
}
