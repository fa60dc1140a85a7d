package board_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

const png = "\x89PNG\r\n\x1a\n\x00\xff"

func attach(t *testing.T, b *board.Board, id, name, body string) (cards.File, error) {
	t.Helper()
	return b.Attach(t.Context(), cards.Attachment{ID: id, Name: name, Body: []byte(body), By: kim})
}

func mustAttach(t *testing.T, b *board.Board, id, name, body string) {
	t.Helper()
	_, err := attach(t, b, id, name, body)
	require.NoError(t, err)
}

// A file has the type of what is in it, a name that is no path, and is there once, until it is removed or its card is
// deleted for good; the log has who did what.
func TestFilesOfACard(t *testing.T) {
	inEach(t, func(t *testing.T, b *board.Board, o board.Options) {
		c := card(t, b, "one")
		for _, want := range []struct{ given, body, name, kind string }{
			{"../../etc/passwd", png, "passwd", "image/png"},
			{`C:\shots\a.html`, "GIF89a/*<html><script>alert(1)</script>*/", "a.html", "image/gif"},
			{"x.png", "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "x.png", "text/plain"},
			{"y.png", "<html><script>alert(1)</script>", "y.png", "text/html"},
			{"a\"\r\nContent-Type: x\x00\u202egpj.exe", "MZ\x00\x01", "a\"Content-Type: xgpj.exe", "application/octet-stream"},
			{"..", "%PDF-1.4", "file", "application/pdf"},
			{strings.Repeat("ж", 200) + ".webp", "RIFF\x00\x00\x00\x00WEBPVP8 ", strings.Repeat("ж", 95) + ".webp", "image/webp"},
		} {
			for range 2 {
				f, err := attach(t, b, c.ID, want.given, want.body)
				require.NoError(t, err)
				require.Equal(t, []string{want.name, want.kind, "Kim"}, []string{f.Name, f.Type, f.By.Name}, want.given)
			}
		}
		s, err := open(t, o).Story(t.Context(), c.ID)
		require.NoError(t, err)
		require.Len(t, s.Files, 7, "what is sent again is there once")
		require.Len(t, s.Log, 8)
		require.Equal(t, []string{cards.Attached, "passwd", "Kim"}, []string{s.Log[1].Kind, s.Log[1].Before, s.Log[1].By})
		for n, image := range []bool{true, true, false, false, false, false, true} {
			require.Equal(t, image, s.Files[n].IsImage(), s.Files[n].Name)
		}

		first := s.Files[0].ID
		require.NoError(t, b.Detach(t.Context(), card(t, b, "two").ID, first, lee), "it is not there")
		for range 2 {
			require.NoError(t, b.Detach(t.Context(), c.ID, first, lee))
		}
		_, err = b.OpenFile(t.Context(), "p", c.ID, first)
		require.ErrorIs(t, err, tracker.ErrNotFound)
		s = read(t, b.Story, c.ID)
		require.Len(t, s.Files, 6)
		require.Equal(t, []string{cards.Detached, "passwd", "Lee", first}, []string{s.Log[8].Kind, s.Log[8].Before, s.Log[8].By, s.Log[8].To})
		require.Len(t, s.Log, 9)

		for _, kind := range []string{cards.ArchivedIt, cards.DeletedIt} {
			require.NoError(t, b.Arrange(t.Context(), cards.Arrangement{ID: c.ID, Kind: kind, By: kim}))
		}
		_, err = attach(t, b, c.ID, "late.txt", "x")
		require.ErrorIs(t, err, tracker.ErrNotFound)
		if o.Path != "" {
			db, err := sql.Open("sqlite", o.Path)
			require.NoError(t, err)
			var left int
			require.NoError(t, db.QueryRowContext(t.Context(), "select (select count(*) from board_files) + (select count(*) from board_moves where before_it <> '')").Scan(&left))
			require.Zero(t, left)
			require.NoError(t, db.Close())
		}
	})
}

// A card has so many files and bytes, and no more when several come at once, by several processes.
func TestFilesAreBounded(t *testing.T) {
	inEach(t, func(t *testing.T, b *board.Board, o board.Options) {
		var input *cards.InputError
		c := card(t, b, "one")
		_, err := attach(t, b, c.ID, "empty", "")
		require.ErrorAs(t, err, &input)
		_, err = attach(t, b, c.ID, "large", strings.Repeat("x", cards.FileMax+1))
		require.ErrorAs(t, err, &input)
		require.Contains(t, input.Text, "5 MiB")
		whole := bytes.Repeat([]byte("\x00x"), cards.FileMax/2)
		f, err := attach(t, b, c.ID, "whole", string(whole))
		require.NoError(t, err)
		r, err := b.OpenFile(t.Context(), "p", c.ID, f.ID)
		require.NoError(t, err)
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.True(t, bytes.Equal(whole, got))
		for n := range 3 {
			_, err = attach(t, b, c.ID, fmt.Sprint("large ", n), string(whole))
			require.NoError(t, err)
		}
		_, err = attach(t, b, c.ID, "one byte", "x")
		require.ErrorAs(t, err, &input)
		require.Contains(t, input.Text, "Remove others first")
		_, err = attach(t, b, c.ID, "whole", string(whole))
		require.NoError(t, err, "it is there")

		c = card(t, b, "two")
		for n := range cards.FilesMax - 1 {
			_, err := attach(t, b, c.ID, fmt.Sprint(n), "x")
			require.NoError(t, err)
		}
		boards := []*board.Board{b, open(t, o)}
		var wait sync.WaitGroup
		errs := make([]error, 6)
		for n := range errs {
			wait.Go(func() {
				_, errs[n] = boards[n%2].Attach(t.Context(), cards.Attachment{ID: c.ID, Name: fmt.Sprint("last ", n), Body: []byte("x"), By: kim})
			})
		}
		wait.Wait()
		taken := 0
		for _, err := range errs {
			if err == nil {
				taken++
				continue
			}
			require.ErrorAs(t, err, &input)
		}
		require.Equal(t, 1, taken)
		require.Len(t, read(t, b.Story, c.ID).Files, cards.FilesMax)
	})
}

// read asks a port, which is to answer.
func read[Q, A any](t testing.TB, port func(context.Context, Q) (A, error), of Q) A {
	t.Helper()
	answer, err := port(t.Context(), of)
	require.NoError(t, err)
	return answer
}
