package command

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

type cardImportCmd struct {
	File    string `arg:"" optional:"" help:"CSV; its first line names columns key, title, description, labels, priority (1 first), state."`
	From    string `help:"Instead of a file, a board or a host by its name in this machine's settings; of a host the issues."`
	Project string `help:"Of that board, as tracker_project in the registry; of issues owner/name."`
	Over    bool   `help:"What is done or given up there as well."`
	DryRun  bool   `help:"Print what would be made."`
	Board   string `help:"The prefix of its cards; needed where the server keeps several boards."`
	printer
}

// Validate refuses a call that names no cards, or two sources of them.
func (c cardImportCmd) Validate() error {
	if (c.File == "") == (c.From == "") || (c.From == "") != (c.Project == "") {
		return errors.New("name a file, or --from with --project")
	}
	return nil
}

// imported is a card of a file.
type imported struct {
	key, title, description, labels string
	priority, comments              int
	column                          cards.Column
}

// Bounds of a file, in bytes, and of a key, in characters.
const (
	importMax = 64 << 20
	keyMax    = 200
)

// Run makes the cards of a file or of a board, once for their keys; it needs the right operator. One with a mistake makes none.
func (c cardImportCmd) Run(s *streams) error {
	list, err := c.read(s)
	if err != nil {
		return fmt.Errorf("%s: %w; no card was made", c.File+c.From, err)
	}
	out := steady{s.out}
	if c.DryRun {
		for _, k := range list {
			fmt.Fprintf(out, "%s %s (%s; %d comments; labels: %s)\n", k.column.Key, oneLine(k.title, 60), k.key, k.comments, k.labels)
		}
		return nil
	}
	board := web.CardList{}
	if err := c.get("/cards?column=none&board="+url.QueryEscape(c.Board), &board); err != nil {
		return err
	}
	all := []web.CardDetail{}
	for n, k := range list {
		var made web.CardDetail
		err := c.call(http.MethodPost, "/cards", map[string]any{
			"key": "import/" + k.key, "once": true, "board": c.Board, "title": k.title, "description": k.description, "labels": k.labels,
		}, &made)
		if err == nil && k.column.Key != made.Column && made.MovedAt.Equal(made.MadeAt) { // else people have moved it since
			err = c.call(http.MethodPost, "/cards/"+url.PathEscape(made.ID), map[string]string{"to": k.column.Key}, &made)
		}
		if exitCode(err) == exitNotFound { // people have deleted it since: the board is there
			continue
		}
		if err != nil {
			return fmt.Errorf("%d of %d cards are made; run it again for the others, none is made twice: %w", n, len(list), err)
		}
		if all = append(all, made); !c.JSON {
			fmt.Fprintln(out, made.Key, made.Column, oneLine(made.Title, 60))
		}
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(all)
	}
	return nil
}

func (c cardImportCmd) read(s *streams) ([]imported, error) {
	if c.File != "" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, err
		}
		defer f.Close() // it was only read
		return readCards(io.LimitReader(f, importMax))
	}
	settings, err := readSettings(s.kinds)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	b, err := settings.OpenSource(ctx, c.From, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return (&source{b, c.From, c.Project, map[string]string{}}).cards(ctx, c.Over)
}

// readCards reads a file in the order in which its cards are made: what is first stands on top of its column.
func readCards(in io.Reader) (list []imported, err error) {
	r := csv.NewReader(in)
	names, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("line 1: the names of the columns cannot be read: %w", err)
	}
	for i, name := range names {
		names[i] = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
		known := slices.Contains([]string{"key", "title", "description", "labels", "priority", "state"}, names[i])
		if !known || slices.Contains(names[:i], names[i]) {
			return nil, fmt.Errorf("line 1, column %d: %.40q is no name of a column, or stands there twice", i+1, name)
		}
	}
	for _, needed := range []string{"key", "title"} {
		if !slices.Contains(names, needed) {
			return nil, fmt.Errorf("line 1: there is no column %s", needed)
		}
	}
	keys := map[string]bool{}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err // it has the line and the column
		}
		var k imported
		k.column, _ = cards.ColumnOf(cards.Backlog)
		for i, text := range row {
			if why := k.set(names[i], strings.TrimSpace(text)); why != "" {
				line, _ := r.FieldPos(i)
				return nil, fmt.Errorf("line %d, column %s: %s", line, names[i], why)
			}
		}
		if line, _ := r.FieldPos(0); keys[k.key] {
			return nil, fmt.Errorf("line %d, column key: %.40q stands there twice", line, k.key)
		}
		keys[k.key] = true
		list = append(list, k)
	}
	slices.SortStableFunc(list, func(a, b imported) int { return a.priority - b.priority })
	line := func(k imported) bool { return cards.IsLine(k.column.Key) }
	rest := slices.DeleteFunc(slices.Clone(list), line) // the newest card is on top there
	slices.Reverse(rest)
	return append(rest, slices.DeleteFunc(list, func(k imported) bool { return !line(k) })...), nil
}

// set fills in a field, and returns what is wrong with it.
func (k *imported) set(name, text string) (why string) {
	most := map[string]int{"key": keyMax, "title": cards.TitleMax, "description": cards.TextMax, "labels": cards.LabelsMax}
	if n, bounded := most[name]; bounded && utf8.RuneCountInString(text) > n {
		return fmt.Sprintf("it has more than %d characters", n)
	}
	switch name {
	case "key", "title":
		if text == "" {
			return "it is empty"
		}
		if name == "key" {
			k.key = text
		} else {
			k.title = text
		}
	case "description":
		k.description = text
	case "labels":
		k.labels = text
	case "priority":
		n, err := strconv.Atoi(text)
		if text != "" && (err != nil || n < 1) {
			return fmt.Sprintf("%.40q is no number from 1", text)
		}
		if k.priority = n; n == 0 {
			k.priority = 1 << 30 // behind all others
		}
	case "state":
		if text == "" {
			return ""
		}
		column, _ := cards.ColumnOf(text)
		if !slices.Contains([]string{cards.Backlog, string(stage.StatusToAnalyse), string(stage.StatusDone)}, column.Key) {
			return fmt.Sprintf("%.40q is not Backlog, To Analyse or Done: a card gets to other columns by its task", text)
		}
		k.column = column
	}
	return ""
}
