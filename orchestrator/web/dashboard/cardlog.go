package dashboard

import (
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// comment is a comment, and what its reader may do with it.
type comment struct {
	cards.Comment
	Mine, Deletable bool
}

// logLine is an entry of a card's log in words.
type logLine struct {
	cards.Entry
	What   string
	Title  string // of an edit: what it said before
	Text   string
	Proved bool
}

func (s *server) logLine(e cards.Entry, story cards.Story) logLine {
	l := logLine{Entry: e, Proved: e.Proof != stage.ProofNone}
	other := "a card"
	for _, c := range slices.Concat(story.BlockedBy, story.Blocks) {
		if c.ID == e.To {
			other = s.viewOf(c).Key
		}
	}
	switch e.Kind {
	case cards.Made:
		l.What = "made the card"
	case cards.Moved:
		l.What = "moved it from " + columnName(e.From) + " to " + columnName(e.To)
	case cards.Edited:
		l.What = "changed its text"
		l.Title, l.Text, _ = strings.Cut(e.Before, "\n")
	case cards.Reworded:
		l.What = "changed a comment"
		if slices.ContainsFunc(story.Comments, func(c cards.Comment) bool { return c.ID == e.To && c.DeletedBy == "" }) {
			l.Text = e.Before
		}
	case cards.Unsaid:
		l.What = "deleted a comment"
	case cards.Attached:
		l.What = "added the file " + e.Before
	case cards.Detached:
		l.What = "removed the file " + e.Before
	case cards.ArchivedIt:
		l.What = "archived it"
	case cards.RestoredIt:
		l.What = "put it back on the board"
	case cards.Blocked:
		l.What = "made it wait for " + other
	case cards.PutBefore, cards.PutBehind:
		l.What = "put it elsewhere in its column"
	case cards.Unblocked:
		l.What = "let it wait no longer for " + other
	default:
		l.What = e.Kind
	}
	return l
}
