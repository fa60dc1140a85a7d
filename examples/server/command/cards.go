package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

type cardCmd struct {
	List    cardListCmd    `cmd:"" help:"List the cards of the server's own board."`
	Show    cardShowCmd    `cmd:"" help:"Show a card with its text and comments."`
	Add     cardAddCmd     `cmd:"" help:"Make a card."`
	Edit    cardEditCmd    `cmd:"" help:"Change a card's texts; who works on it has them from the next run on."`
	Move    cardMoveCmd    `cmd:"" help:"Move a card to a column, or within it: the order in a column is that in which its cards begin."`
	Comment cardCommentCmd `cmd:"" help:"Comment on a card."`
	Attach  cardAttachCmd  `cmd:"" help:"Put files on a card; an image stands in its texts by ![words](files/ID)."`
	Import  cardImportCmd  `cmd:"" help:"Make the cards of a CSV file or of another board; run again, it makes what is missing."`
	Answer  cardAnswerCmd  `cmd:"" help:"Answer the questions on a card, which goes on: a comment and In Progress."`
}

type cardListCmd struct {
	Board    string `help:"Of this board only: the prefix of its cards."`
	Column   string `help:"In this column only, by its key such as to_analyse."`
	Archived bool   `help:"Those that are archived instead."`
	printer
}

// Run lists cards.
func (c cardListCmd) Run(s *streams) error {
	query := url.Values{"board": {c.Board}, "column": {c.Column}, "archived": {strconv.FormatBool(c.Archived)}}
	return fetch(c.printer, s, "/cards?"+query.Encode(), func(w io.Writer, list web.CardList) {
		_ = table(w, "CARD\tREPOSITORY\tCOLUMN\tMOVED\tTITLE", func(row func(...any)) { // nobody can be told of errors of w
			for _, k := range list.Cards {
				row(k.Key, k.Repo, k.Column, moment(k.MovedAt), oneLine(k.Title, 60))
			}
		})
	})
}

// card is the part of commands about one card.
type card struct {
	Card string `arg:"" help:"The key of the card, such as APP-7."`
	printer
}

// act sends something about a card and prints the card as it is then.
func (c card) act(s *streams, method string, body any) error {
	return read(c.printer, s, method, c.path(), body, printCard)
}

func (c card) path() string { return "/cards/" + url.PathEscape(c.Card) }

func printCard(w io.Writer, k web.CardDetail) {
	fmt.Fprintf(w, "%s %s\n%s of %s, by %s; version %d\n", k.Key, oneLine(k.Title, 200), k.Column, k.Repo, k.MadeBy, k.Version)
	if k.Labels != "" {
		fmt.Fprintln(w, "labels: "+oneLine(k.Labels, 200))
	}
	fmt.Fprintln(w, strings.TrimSpace(k.Description))
	for _, f := range k.Files {
		fmt.Fprintf(w, "-- file %s, %d bytes, %s, %s\n", oneLine(f.Name, 100), f.Size, oneLine(f.By, 60), f.ID)
	}
	for _, said := range k.Comments {
		about := "" // what has become of it
		switch {
		case said.DeletedBy != "":
			about = ", deleted by " + oneLine(said.DeletedBy, 60)
		case !said.EditedAt.IsZero():
			about = ", edited " + moment(said.EditedAt)
		}
		fmt.Fprintf(w, "\n-- %s, %s%s, %s\n", oneLine(said.Author, 60), moment(said.At), about, oneLine(said.ID, 40))
		fmt.Fprintln(w, strings.TrimSpace(said.Body))
	}
}

type cardShowCmd struct{ card }

// Run prints a card.
func (c cardShowCmd) Run(s *streams) error { return c.act(s, http.MethodGet, nil) }

type cardAddCmd struct {
	Title  string   `arg:"" help:"In a few words."`
	Text   string   `help:"The description in Markdown; - reads it from the standard input."`
	Board  string   `help:"The prefix of its cards; needed where the server keeps several boards."`
	Labels []string `help:"Names, with commas between them."`
	Begin  bool     `help:"Set To Analyse: the analyst begins."`
	Key    string   `help:"Identity: the same key and texts make one card, however often they are sent."`
	printer
}

// Run makes a card; it needs the right operator.
func (c cardAddCmd) Run(s *streams) error {
	text, err := written(c.Text)
	if err != nil {
		return err
	}
	return read(c.printer, s, http.MethodPost, "/cards", map[string]any{
		"key": c.Key, "board": c.Board, "title": c.Title, "description": text, "labels": strings.Join(c.Labels, ","), "begin": c.Begin,
	}, func(w io.Writer, k web.CardDetail) { fmt.Fprintln(w, k.Key) })
}

// written is a text of the command line, or for - that of the standard input.
func written(text string) (string, error) {
	if text != "-" {
		return text, nil
	}
	body, err := io.ReadAll(io.LimitReader(os.Stdin, answerMax))
	return string(body), err
}

type cardEditCmd struct {
	card
	Title string `help:"In a few words."`
	Text  string `help:"The description in Markdown; - reads it from the standard input."`
}

// Run changes what is given of a card's texts, unless another changes them meanwhile; it needs the right operator.
func (c cardEditCmd) Run(s *streams) error {
	var k web.CardDetail
	text, err := written(c.Text)
	if err = errors.Join(err, c.get(c.path(), &k)); err != nil {
		return err
	}
	return c.act(s, http.MethodPut, map[string]any{
		"version": k.Version, "title": cmp.Or(c.Title, k.Title), "description": cmp.Or(text, k.Description), "labels": k.Labels,
	})
}

type cardMoveCmd struct {
	Words  []string `arg:"" name:"card" help:"Keys of cards, then a column: to_analyse, In Progress, STOP; Approved takes one card."`
	Before string   `help:"Put it before this card of the column."`
	Behind string   `help:"Put it behind this card of the column."`
	Why    string   `help:"A comment that goes with it; a rejection needs one."`
	Commit string   `help:"The commit that you have read: a verdict is refused when the task stands at another by now."`
	Key    string   `help:"Identity: the same key and comment make one comment."`
	printer
}

var isKey = regexp.MustCompile(`^\s*\w+-\d+\s*$`)

// Run moves cards; it needs the right operator, and for a verdict that of an approver.
func (c cardMoveCmd) Run(s *streams) error {
	n := 1
	for n < len(c.Words) && isKey.MatchString(c.Words[n]) {
		n++
	}
	keys, to := c.Words[:n], strings.Join(c.Words[n:], " ")
	switch {
	case to == "" && !isKey.MatchString(keys[0]):
		return &exitError{exitUsage, errors.New("name the card that is to be moved, such as APP-7, before the column")}
	case len(keys) == 1:
		return card{keys[0], c.printer}.act(s, http.MethodPost, map[string]string{
			"to": to, "comment": c.Why, "commit": c.Commit, "before": c.Before, "behind": c.Behind, "key": c.Key,
		})
	case c.Before != "" || c.Behind != "" || c.Commit != "":
		return &exitError{exitUsage, errors.New("--before, --behind and --commit go with one card")}
	}
	left := 0
	err := read(c.printer, s, http.MethodPost, "/cards/move", map[string]any{
		"cards": keys, "to": to, "comment": c.Why, "key": c.Key,
	}, func(w io.Writer, list web.MoveList) {
		for _, m := range list.Cards {
			if m.Problem != "" {
				left++
			}
			fmt.Fprintln(w, m.Card, cmp.Or(m.Column, "stays: "+m.Problem))
		}
	})
	if err == nil && left > 0 {
		return &exitError{exitRefused, fmt.Errorf("%d of %d cards are not moved", left, len(keys))}
	}
	return err
}

type cardCommentCmd struct {
	card
	Text   string `arg:"" optional:"" help:"In Markdown."`
	Key    string `help:"Identity: the same key and text make one comment."`
	Edit   string `placeholder:"ID" xor:"which" help:"Replace this comment of yours, by its id."`
	Delete string `placeholder:"ID" xor:"which" help:"Delete this comment; that of another needs the right admin."`
}

// Run comments on a card, or changes a comment; it needs the right operator.
func (c cardCommentCmd) Run(s *streams) error {
	at := c.path() + "/comments/" + url.PathEscape(cmp.Or(c.Edit, c.Delete))
	switch {
	case (c.Text == "") != (c.Delete != ""):
		return &exitError{exitUsage, errors.New("write what the comment is to say; with --delete there is no text")}
	case c.Edit != "":
		return read(c.printer, s, http.MethodPut, at, map[string]string{"comment": c.Text}, printCard)
	case c.Delete != "":
		return read(c.printer, s, http.MethodDelete, at, nil, printCard)
	}
	return c.act(s, http.MethodPost, map[string]string{"comment": c.Text, "key": c.Key})
}

type cardAttachCmd struct {
	card
	Files  []string `arg:"" optional:"" help:"Paths of files."`
	Remove string   `placeholder:"ID" help:"Remove this file from the card; that of another needs the right admin."`
}

// Run puts files on a card, one after another, or removes one; it needs the right operator.
func (c cardAttachCmd) Run(s *streams) error {
	at := c.path() + "/files"
	switch {
	case (len(c.Files) == 0) != (c.Remove != ""):
		return &exitError{exitUsage, errors.New("name the files that are to be on the card; with --remove there is none")}
	case c.Remove != "":
		return read(c.printer, s, http.MethodDelete, at+"/"+url.PathEscape(c.Remove), nil, printCard)
	}
	var k web.CardDetail
	for _, name := range c.Files {
		f, err := os.Open(name)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		body, err := io.ReadAll(io.LimitReader(f, cards.FileMax+1)) // one that is larger is refused
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if err := c.call(http.MethodPost, at, map[string]any{"name": filepath.Base(name), "content": body}, &k); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return c.act(s, http.MethodGet, nil)
}

type cardAnswerCmd struct {
	card
	Text string `arg:"" help:"The answers, in Markdown."`
}

// Run answers what an agent has asked; it needs the right operator.
func (c cardAnswerCmd) Run(s *streams) error {
	return c.act(s, http.MethodPost, map[string]string{"comment": c.Text, "to": string(stage.StatusInProgress)})
}
