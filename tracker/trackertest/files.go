package trackertest

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

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
