package board

import (
	"context"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// rankOfCard is where a card stands in its column. A card that nobody has put anywhere has the moment of its move, in
// thousandths of a microsecond, which leaves room between two of them.
const rankOfCard = `coalesce((select rank from board_ranks where card = board_cards.id),
	case when col in ('to_analyse', 'analysis') then 1000 else -1000 end * moved_at)`

// rankStep is between cards that are next to each other, where there is room for as much.
const rankStep = 1 << 16

// ranked is a card of a column with its rank.
type ranked struct {
	id   string
	rank int64
}

// rank puts a card next to another of its column, and reports whether that changes anything.
func (b *Board) rank(ctx context.Context, t tx, r row, a cards.Arrangement) (changed bool, err error) {
	var column []ranked
	query := "select id, " + rankOfCard + " as place from board_cards where project = ? and col = ? and state = 0 order by place, id"
	err = b.db.each(ctx, t, query, []any{r.Project, r.Column}, func(scan func(...any) error) error {
		var c ranked
		err := scan(&c.id, &c.rank)
		column = append(column, c)
		return err
	})
	if err != nil {
		return false, err
	}
	here := func(id string) int { return slices.IndexFunc(column, func(c ranked) bool { return c.id == id }) }
	from, to := here(r.ID), here(a.Other)
	if from < 0 || to < 0 || from == to {
		c, _ := cards.ColumnOf(r.Column)
		text := fmt.Sprintf("A card is put next to another card of its column, which is %s: write the key of one.", c.Name)
		return false, &cards.InputError{Text: text}
	}
	if a.Kind == cards.PutBehind {
		to++
	}
	if to == from || to == from+1 {
		return false, nil
	}
	own := column[from]
	if column = slices.Delete(column, from, from+1); from < to {
		to--
	}
	switch {
	case to == 0:
		return true, t.rank(ctx, own.id, column[0].rank-rankStep)
	case to == len(column):
		return true, t.rank(ctx, own.id, column[to-1].rank+rankStep)
	case column[to].rank-column[to-1].rank > 1:
		return true, t.rank(ctx, own.id, column[to-1].rank+(column[to].rank-column[to-1].rank)/2)
	}
	column = slices.Insert(column, to, own)
	first := column[0].rank // there is no room: cards that come later still come to the same end
	if cards.IsLine(r.Column) {
		first = column[len(column)-1].rank - int64(len(column))*rankStep
	}
	for i, c := range column {
		if err := t.rank(ctx, c.id, first+int64(i)*rankStep); err != nil {
			return false, err
		}
	}
	return true, nil
}

// rank keeps where a card was put.
func (t tx) rank(ctx context.Context, id string, rank int64) error {
	return t.exec(ctx, "insert into board_ranks (card, rank) values (?, ?) on conflict (card) do update set rank = excluded.rank", id, rank)
}

// Order implements cards.Reader.
func (b *Board) Order(ctx context.Context, project string) (ids []string, err error) {
	query := `select id, (select count(*) from board_ranks where card = board_cards.id) from board_cards
		where project = ? and col in ('to_analyse', 'analysis') and state = 0
		order by case when col = 'analysis' then 0 else 1 end, ` + rankOfCard + ", id"
	put := 0
	err = b.db.each(ctx, b.db, query, []any{project}, func(scan func(...any) error) error {
		var id string
		var n int
		err := scan(&id, &n)
		ids, put = append(ids, id), put+n
		return err
	})
	if put == 0 {
		ids = nil
	}
	return ids, err
}
