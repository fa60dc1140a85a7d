package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// CopyTo fills an empty PostgreSQL, in the schema of the settings, with what the SQLite file keeps: all
// of it or nothing. No server may run on either. It returns the rows of each table; the journal's
// chain is the same and whole in both.
func (s Settings) CopyTo(ctx context.Context, address string) (counts map[string]int64, err error) {
	if s.Shared() {
		return nil, fmt.Errorf("%sDATABASE_URL is set: unset it, so that the SQLite file is what is copied", Prefix)
	}
	if _, err := os.Stat(s.file()); err != nil {
		return nil, fmt.Errorf("%sDATA_DIR: %w", Prefix, err)
	}
	held, err := s.Occupy()
	if err == nil {
		defer held.Close()
		err = errors.Join(sqlite.Unused(ctx, s.file()), postgres.Unused(ctx, address, s.DatabaseSchema))
	}
	if err != nil {
		return nil, err
	}
	from, err := sqlite.Open(ctx, sqlite.Options{Path: s.file()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	before, err := task.Verify(ctx, from)
	if err == nil && len(before.Broken) > 0 {
		err = fmt.Errorf("the journal in %s is not as it was written: %s", s.file(), strings.Join(before.Broken, "; "))
	}
	if err != nil {
		return nil, err
	}
	db, err := postgres.Open(ctx, postgres.Options{URL: address, Schema: s.DatabaseSchema})
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	cards, err := board.Open(ctx, board.Options{URL: address, Schema: s.DatabaseSchema}) // makes its tables
	if err == nil {
		err = cards.Close()
	}
	if err != nil {
		return nil, err
	}
	return db.Fill(ctx, from.Reader(), func(c task.Chain) error {
		after, err := task.Verify(ctx, c)
		if err == nil && !reflect.DeepEqual(after, before) {
			err = fmt.Errorf("the journal is another one there: %s", strings.Join(after.Broken, "; "))
		}
		return err
	}, "board_revision")
}
