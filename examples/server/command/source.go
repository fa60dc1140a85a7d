package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// source is a board of others from which cards are imported.
type source struct {
	app.BoardHost
	name, project string
	people        map[string]string // names by account
}

// Bounds of reading a board: how often what may pass is tried again, how long one wait may be, and how many items there may be.
const (
	sourceTries = 20
	sourceWait  = 2 * time.Minute
	sourceMax   = 5000
)

// patiently makes a call again while its error is one that passes: boards allow so many requests a minute.
func patiently[T any](ctx context.Context, call func() (T, error)) (out T, err error) {
	for range sourceTries {
		if out, err = call(); !fault.Retryable(err) || ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(max(fault.After(err), 200*time.Millisecond), sourceWait)):
		}
	}
	return out, err
}

// cards reads all of a project before one is made, those that are over only if they are wanted. What was made first stands on
// top of the backlog.
func (b *source) cards(ctx context.Context, over bool) (list []imported, err error) {
	var heads []tracker.Item
	for q := (tracker.Query{ProjectID: b.project}); ; {
		page, err := patiently(ctx, func() (tracker.Page, error) { return b.List(ctx, q) })
		if err != nil {
			return nil, err
		}
		heads = append(heads, page.Items...)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
		if len(heads) > sourceMax {
			return nil, fmt.Errorf("%s has more than %d items: import a file of those that are wanted", b.project, sourceMax)
		}
	}
	heads = slices.DeleteFunc(heads, func(i tracker.Item) bool { return i.Finished && !over })
	slices.SortFunc(heads, func(a, b tracker.Item) int { return cmp.Compare(b.Sequence, a.Sequence) })
	for _, head := range heads {
		k, err := b.card(ctx, head.ID)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", head.Sequence, err)
		}
		list = append(list, k)
	}
	return list, nil
}

// card is an item with what was said on it as dated quotes, and the way to where it came from.
func (b *source) card(ctx context.Context, id string) (k imported, err error) {
	item, err := patiently(ctx, func() (tracker.Item, error) { return b.Item(ctx, b.project, id) })
	if err != nil {
		return k, err
	}
	said, err := patiently(ctx, func() ([]tracker.Comment, error) { return b.Comments(ctx, b.project, id) })
	if err != nil && !errors.Is(err, tracker.ErrNotFound) {
		return k, err
	}
	at := item.URL
	if l, ok := b.BoardHost.(tracker.Linker); ok {
		at = cmp.Or(at, l.ItemURL(b.project, id))
	}
	k.key, k.title = b.name+"/"+id, cmp.Or(strings.TrimSpace(item.Title), "(no title)")
	k.column, _ = cards.ColumnOf(cards.Backlog)
	for i, l := range item.Labels {
		item.Labels[i] = strings.Join(strings.Fields(strings.ReplaceAll(l, ",", " ")), " ")
	}
	k.labels = strings.Join(item.Labels, ", ")
	name := cmp.Or(item.Key, fmt.Sprintf("#%d", item.Sequence))
	k.description = strings.TrimSpace(item.Description + "\n\n---\n\nFrom " + b.name + ", " + link(name, at) + ".")
	for _, c := range said {
		if c.Own || strings.TrimSpace(c.Body) == "" {
			continue
		}
		who, err := b.person(ctx, c.AuthorID)
		if err != nil {
			return k, err
		}
		k.comments++
		body := strings.ReplaceAll(strings.TrimSpace(c.Body), "\n", "\n> ")
		k.description += fmt.Sprintf("\n\n> **%s**, %s:\n>\n> %s", who, moment(c.CreatedAt), body)
	}
	for field, x := range map[string]struct {
		text string
		most int
	}{"title": {k.title, cards.TitleMax}, "text with its comments": {k.description, cards.TextMax}, "labels": {k.labels, cards.LabelsMax}} {
		if utf8.RuneCountInString(x.text) > x.most {
			return k, fmt.Errorf("its %s is longer than %d characters: shorten it there, or import a file", field, x.most)
		}
	}
	return k, nil
}

func link(name, address string) string {
	if address == "" {
		return name
	}
	return "[" + name + "](" + address + ")"
}

var isID = regexp.MustCompile(`^[0-9a-fA-F-]{32,36}$|^$`)

// person is an account's name, where the board tells it, else what people are called there.
func (b *source) person(ctx context.Context, account string) (string, error) {
	if name, known := b.people[account]; known {
		return name, nil
	}
	name := account
	if isID.MatchString(account) {
		name = "a member"
	}
	if p, ok := b.BoardHost.(tracker.People); ok {
		who, err := patiently(ctx, func() (tracker.Person, error) { return p.Person(ctx, b.project, account) })
		if err != nil && !errors.Is(err, tracker.ErrNotFound) {
			return "", err
		}
		name = cmp.Or(strings.NewReplacer("*", "", "\n", " ").Replace(who.Name), name)
	}
	b.people[account] = name
	return name, nil
}
