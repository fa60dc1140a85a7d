package command

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

type whyCmd struct {
	Task string `arg:"" optional:"" help:"Task id, or work item id such as GPX-42."`
	All  bool   `help:"Every task that is not finished, with what each waits for."`
	Repo string `help:"With --all: of this repository only."`

	Words bool `help:"What people have said of the card as well, with what became of each word."`
	printer
}

// Validate refuses a call that names nothing, or two things.
func (c whyCmd) Validate() error {
	switch {
	case c.All == (c.Task != ""):
		return errors.New("name a task, or --all")
	case c.Repo != "" && !c.All:
		return errors.New("--repo goes with --all")
	}
	return nil
}

// Run prints the explanation of one task, or the blockers of all.
func (c whyCmd) Run(s *streams) error {
	if c.All {
		return c.all(s.out)
	}
	id, err := c.find(c.Task)
	if exitCode(err) == exitNotFound {
		return c.unbegun(s, err)
	}
	if err != nil {
		return err
	}
	return fetch(c.printer, s, fmt.Sprintf("/tasks/%d/explain", id), func(w io.Writer, x explain.Explanation) {
		show(w, x)
		for i := 0; c.Words && i < len(x.Words); i++ {
			fmt.Fprintf(w, "  word %s\n", x.Words[i])
		}
	})
}

// unbegun explains a card of the server's own board that has no task: what the service has said on it last. Of another card
// the error stays.
func (c whyCmd) unbegun(s *streams, missing error) error {
	err := fetch(c.printer, s, card{Card: c.Task}.path(), func(w io.Writer, k web.CardDetail) {
		fmt.Fprintf(w, "%s (no task, %s): %s\n", k.Key, k.Repo, oneLine(k.Title, 200))
		fmt.Fprintf(w, "  in %s since %s\n", k.Column, moment(k.MovedAt))
		do := "Set To Analyse"
		for _, v := range slices.Backward(k.Comments) {
			if v.Service {
				fmt.Fprintf(w, "  said %s: %s\n", moment(v.At), oneLine(v.Body, 1000))
				do = "Mend on the card what that says, then set To Analyse again"
				break
			}
		}
		fmt.Fprintf(w, "      do: %s: signalbox card move %s to_analyse\n", do, k.Key)
	})
	if err != nil {
		return fmt.Errorf("%w; a card that was not begun has none, and what the service refuses it says there", missing)
	}
	return nil
}

func (c whyCmd) all(out io.Writer) error {
	list := web.ExplanationList{Tasks: []explain.Explanation{}}
	for query := (url.Values{"repo": {c.Repo}}); ; {
		var page web.ExplanationList
		if err := c.get("/explain?"+query.Encode(), &page); err != nil {
			return err
		}
		list.Tasks = append(list.Tasks, page.Tasks...)
		if page.Next == 0 {
			break
		}
		query.Set("after", strconv.FormatInt(page.Next, 10))
	}
	return c.print(out, list, func(w io.Writer) error {
		for _, x := range list.Tasks {
			fmt.Fprintf(w, "%s (task %d, %s) at %s: %s\n", x.WorkItem, x.TaskID, x.Repo, x.Stage, x.Summary)
			showBlockers(w, x)
		}
		return nil
	})
}

// show prints an explanation for people.
func show(w io.Writer, x explain.Explanation) {
	fmt.Fprintf(w, "%s (task %d, %s): %s\n", x.WorkItem, x.TaskID, x.Repo, x.Title)
	fmt.Fprintf(w, "  at %s since %s\n  %s\n", x.Stage, moment(x.Since), x.Summary)
	showBlockers(w, x)
	if x.Forecast != nil {
		fmt.Fprintf(w, "  forecast: %s\n", x.Forecast.Text)
	}
	for _, line := range [][2]string{
		{"lane", x.Lane}, {"follows", x.Follows}, {"followed by", strings.Join(x.FollowedBy, ", ")}, {"CI", x.CI},
	} {
		if line[1] != "" {
			fmt.Fprintf(w, "  %s: %s\n", line[0], line[1])
		}
	}
	for _, o := range x.Owed {
		word := "owed"
		if o.GivenUp {
			word = "given up"
		}
		fmt.Fprintf(w, "  %s: %s\n", word, o.Text)
	}
	for _, m := range x.Moves {
		fmt.Fprintf(w, "  %s → %s: %s\n", m.On, m.To, m.Why)
	}
	if x.LastNote != "" {
		fmt.Fprintf(w, "  last: %s\n", x.LastNote)
	}
	for _, v := range x.Judged {
		printVerdict(w, v, "  judged ")
	}
}

func showBlockers(w io.Writer, x explain.Explanation) {
	for _, b := range x.Blockers {
		fmt.Fprintf(w, "  waits (%s): %s\n      do: %s\n", b.Who, b.Why, b.Do)
		if b.Link != "" {
			fmt.Fprintf(w, "      see: %s\n", b.Link)
		}
	}
}
