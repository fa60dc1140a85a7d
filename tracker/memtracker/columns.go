package memtracker

import (
	"context"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// SetWays sets into which columns a card may be moved from a column, as boards with transitions have it; from a column that is
// not named, into all. People may do as they like.
func (b *Board) SetWays(ways map[stage.Status][]stage.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ways = ways
}

// wayTo is nil where a card may go from one column into another.
func (b *Board) wayTo(from, to stage.Status) error {
	ways, narrow := b.ways[from]
	if !narrow || slices.Contains(ways, to) {
		return nil
	}
	var names []string
	for _, s := range append([]stage.Status{to}, ways...) {
		info, _ := stage.StatusNamed(s)
		names = append(names, info.Name)
	}
	return &tracker.NoWayError{To: names[0], Ways: names[1:]}
}

// has reports whether a project has a column.
func (b *Board) has(projectID string, s stage.Status) bool {
	columns := b.columns[projectID]
	_, known := stage.StatusNamed(s)
	return known && (len(columns) == 0 || slices.Contains(columns, s))
}

// column is the column that serves a status.
func (b *Board) column(projectID string, s stage.Status) (stage.Status, bool) {
	return tracker.Resolve(s, func(s stage.Status) bool { return b.has(projectID, s) })
}

// board begins every call on a project's columns.
func (b *Board) board(ctx context.Context, call, projectID string) error {
	if err := b.Failure(ctx, call); err != nil {
		return err
	}
	if _, ok := b.columns[projectID]; !ok {
		return tracker.ErrNotFound
	}
	return nil
}

// Columns implements tracker.Board.
func (b *Board) Columns(ctx context.Context, projectID string) (map[stage.Status]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.board(ctx, "Columns", projectID); err != nil {
		return nil, err
	}
	out := map[stage.Status]string{}
	for _, info := range stage.Statuses() {
		if column, ok := b.column(projectID, info.Key); ok {
			served, _ := stage.StatusNamed(column)
			out[info.Key] = served.Name
		}
	}
	return out, nil
}

// StatusOf implements tracker.Board. A column's id is its logical status here.
func (b *Board) StatusOf(ctx context.Context, projectID, column string) (stage.Status, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.board(ctx, "StatusOf", projectID); err != nil {
		return stage.StatusUnknown, err
	}
	for _, info := range stage.Statuses() {
		if b.has(projectID, info.Key) && (column == string(info.Key) || strings.EqualFold(column, info.Name)) {
			return info.Key, nil
		}
	}
	return stage.StatusUnknown, nil
}
