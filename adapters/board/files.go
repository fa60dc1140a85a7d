package board

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"

	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// files reads what is known of the files of a card, oldest first.
func (b *Board) files(ctx context.Context, from asker, id string) (out []cards.File, err error) {
	query := "select id, name, type, size, made_by, proof, at from board_files where card = ? order by at, id"
	err = b.db.each(ctx, from, query, []any{id}, func(scan func(...any) error) error {
		var f cards.File
		var at int64
		err := scan(&f.ID, &f.Name, &f.Type, &f.Size, &f.By.Name, &f.By.Proof, &at)
		f.At = moment(at)
		out = append(out, f)
		return err
	})
	return out, err
}

// Files implements tracker.Files.
func (b *Board) Files(ctx context.Context, projectID, itemID string) (out []tracker.File, err error) {
	if _, err := b.find(ctx, b.db, projectID, itemID); err != nil {
		return nil, err
	}
	list, err := b.files(ctx, b.db, itemID)
	for _, f := range list {
		out = append(out, f.File)
	}
	return out, err
}

// OpenFile implements tracker.Files. An empty project is any.
func (b *Board) OpenFile(ctx context.Context, projectID, itemID, fileID string) (io.ReadCloser, error) {
	if _, err := b.find(ctx, b.db, projectID, itemID); err != nil {
		return nil, err
	}
	var body []byte
	found := false
	query := "select body from board_files where card = ? and id = ?"
	err := b.db.each(ctx, b.db, query, []any{itemID, fileID}, func(scan func(...any) error) error {
		found = true
		return scan(&body)
	})
	if err == nil && !found {
		err = notFound("file", fileID)
	}
	return io.NopCloser(bytes.NewReader(body)), err
}

// typeOf is the media type of what a file holds, whatever it is called.
func typeOf(body []byte) string {
	kind, _, err := mime.ParseMediaType(http.DetectContentType(body))
	if err != nil {
		return "application/octet-stream"
	}
	return kind
}

// Attach implements cards.Files.
func (b *Board) Attach(ctx context.Context, a cards.Attachment) (f cards.File, err error) {
	f.Name, f.Size, f.Type, f.By, f.At = cards.CleanFileName(a.Name), int64(len(a.Body)), typeOf(a.Body), a.By, moment(b.now())
	f.By.Proof = proof(a.By)
	switch {
	case f.Size == 0:
		return f, &cards.InputError{Text: fmt.Sprintf("The file %q is empty.", f.Name)}
	case f.Size > cards.FileMax:
		return f, &cards.InputError{Text: fmt.Sprintf("The file %q is larger than %d MiB.", f.Name, cards.FileMax>>20)}
	}
	f.ID = fmt.Sprintf("%.16x", sha256.Sum256(append([]byte(a.ID+"\x00"+f.Name+"\x00"), a.Body...)))
	err = b.db.write(ctx, func(t tx) error {
		r, err := b.find(ctx, t, "", a.ID)
		if err != nil {
			return err
		}
		list, err := b.files(ctx, t, r.ID)
		all := f.Size
		for _, had := range list {
			all += had.Size
		}
		switch at := slices.IndexFunc(list, func(had cards.File) bool { return had.ID == f.ID }); {
		case err != nil:
			return err
		case at >= 0:
			f = list[at]
			return nil
		case len(list) >= cards.FilesMax, all > cards.FilesAll:
			return &cards.InputError{Text: fmt.Sprintf(
				"The file %q is one too many: a card has %d files of %d MiB together. Remove others first.",
				f.Name, cards.FilesMax, cards.FilesAll>>20,
			)}
		}
		err = t.exec(ctx, `insert into board_files (id, card, name, type, size, body, made_by, proof, at)
			values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			f.ID, r.ID, f.Name, f.Type, f.Size, a.Body, f.By.Name, string(f.By.Proof), f.At.UnixMicro())
		if err != nil {
			return err
		}
		_, err = b.change(ctx, t, &r, cards.Entry{Kind: cards.Attached, To: f.ID, Before: f.Name, By: a.By.Name, Proof: f.By.Proof}, "")
		return err
	})
	return f, err
}

// Detach implements cards.Files.
func (b *Board) Detach(ctx context.Context, id, file string, by cards.Person) error {
	return b.db.write(ctx, func(t tx) error {
		r, err := b.find(ctx, t, "", id)
		if err != nil {
			return err
		}
		name, found, err := b.db.once(ctx, t, "select name from board_files where card = ? and id = ?", id, file)
		if err != nil || !found {
			return err
		}
		if err := t.exec(ctx, "delete from board_files where id = ?", file); err != nil {
			return err
		}
		_, err = b.change(ctx, t, &r, cards.Entry{Kind: cards.Detached, To: file, Before: name, By: by.Name, Proof: proof(by)}, "")
		return err
	})
}
