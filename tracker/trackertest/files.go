package trackertest

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// files: they are read as they are, in the order they came, of their own item and project alone.
func files(t *testing.T, f Fixture) {
	from := part[tracker.Files](t, f)
	if f.Attach == nil {
		t.Skip("no file can be put on an item (Fixture.Attach)")
	}
	p, other := f.NewProject(all()...), f.NewProject(all()...)
	item, bare := f.NewItem(p, "with files", ""), f.NewItem(p, "without", "")
	bodies := [][]byte{append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{0, 255, '\n'}, 100_000)...), []byte("text")}
	f.Attach(item, "a shot.png", bodies[0])
	f.Attach(item, "log.txt", bodies[1])
	list, err := from.Files(t.Context(), p, item)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, []string{"a shot.png", "log.txt"}, []string{list[0].Name, list[1].Name})
	for n, one := range list {
		require.Equal(t, int64(len(bodies[n])), one.Size)
		r, err := from.OpenFile(t.Context(), p, item, one.ID)
		require.NoError(t, err)
		body, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.Equal(t, bodies[n], body)
	}
	require.Equal(t, "image/png", list[0].Type)
	none, err := from.Files(t.Context(), p, bare)
	require.NoError(t, err)
	require.Empty(t, none)
	for _, wrong := range [][3]string{{p, bare, list[0].ID}, {p, item, "none"}, {other, item, list[0].ID}} {
		_, err := from.OpenFile(t.Context(), wrong[0], wrong[1], wrong[2])
		require.ErrorIs(t, err, tracker.ErrNotFound, wrong)
	}
}

// makes: an item of the service's own is an item as any other, until it is removed.
func makes(t *testing.T, f Fixture) {
	by, p := part[tracker.Maker](t, f), f.NewProject(all()...)
	made, err := by.MakeItem(t.Context(), p, "made")
	require.NoError(t, err)
	require.Equal(t, []string{"made", p}, []string{made.Title, made.ProjectID})
	require.NoError(t, f.Tracker.SetStatus(t.Context(), p, made.ID, stage.StatusAnalysis))
	item, err := f.Tracker.Item(t.Context(), p, made.ID)
	require.NoError(t, err)
	require.Equal(t, []any{made.ID, "made", stage.StatusAnalysis}, []any{item.ID, item.Title, item.Status})
	require.NoError(t, by.RemoveItem(t.Context(), p, made.ID))
	if item, err = f.Tracker.Item(t.Context(), p, made.ID); !errors.Is(err, tracker.ErrNotFound) {
		require.NoError(t, err)
		require.Equal(t, stage.StatusUnknown, item.Status)
	}
	list, err := f.Tracker.List(t.Context(), tracker.Query{ProjectID: p, Statuses: all()})
	require.NoError(t, err)
	require.Empty(t, list.Items)
}
