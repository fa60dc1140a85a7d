// Package cards is the port to a board that the service keeps itself: what its pages read
// and change. What the engine does there goes by package tracker, which the same adapter
// (adapters/board) implements.
//
// A change has an identity, so that a form that is sent again changes nothing: a card and a
// comment are made once for their key, a move sets a column, an edit names the version
// that it was made of.
package cards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// ErrConflict means that somebody else has changed a card since the version that an edit
// was made of.
var ErrConflict = errors.New("cards: somebody else has changed the card meanwhile")

// InputError reports what is wrong with what a person has typed, in a sentence.
type InputError struct{ Text string }

// Error is the sentence.
func (e *InputError) Error() string { return e.Text }

// Column is a column of the board.
type Column struct {
	Key     string // as in addresses, and in hooks
	Name    string
	Status  stage.Status // that it shows; StatusUnknown for the first
	Trigger bool         // a move here is an event of the pipeline
}

// Backlog is the key of the first column: cards are made there, and nothing follows.
const Backlog = "backlog"

// Columns lists the columns in the order of the board: each status has one.
func Columns() []Column {
	out := []Column{{Key: Backlog, Name: "Backlog"}}
	for _, s := range []stage.Status{
		stage.StatusToAnalyse, stage.StatusAnalysis, stage.StatusNeedsInput,
		stage.StatusInReview, stage.StatusApproved, stage.StatusRejected,
		stage.StatusInProgress, stage.StatusCodeReview, stage.StatusAwaitingDeploy, stage.StatusConfirmDeploy, stage.StatusDeploying,
		stage.StatusMonitoring, stage.StatusBlocked, stage.StatusDone, stage.StatusStop,
	} {
		info, _ := stage.StatusNamed(s)
		out = append(out, Column{Key: string(s), Name: info.Name, Status: s, Trigger: info.Trigger})
	}
	return out
}

// ColumnOf finds a column by its key or its name, in which case does not matter.
func ColumnOf(word string) (Column, bool) {
	word = strings.TrimSpace(word)
	for _, c := range Columns() {
		if word == c.Key || strings.EqualFold(word, c.Name) {
			return c, true
		}
	}
	return Column{}, false
}

// IsLine reports whether the cards of a column stand in line to begin.
func IsLine(column string) bool {
	return column == string(stage.StatusToAnalyse) || column == string(stage.StatusAnalysis)
}

// Person names the author of a change. The name is the account's id as well.
type Person struct {
	Name  string
	Proof stage.Proof // ProofToken, or ProofNone for a name that was typed and nothing more
}

// Service begins the ids of the service's own accounts; no person's name has a slash.
const Service = "signalbox/"

// Lengths that people's texts may have, in characters.
const (
	TitleMax  = 10_000
	TextMax   = 100_000
	LabelsMax = 1_000
)

// nameMax is the length of a person's name, in characters.
const nameMax = 60

// CleanName tidies the name that a person has typed; an *InputError reports what is wrong.
func CleanName(typed string) (string, error) {
	name := strings.Join(strings.Fields(CleanText(typed)), " ")
	switch {
	case name == "":
		return "", &InputError{"Type your name: the board and the journal show who has done what."}
	case utf8.RuneCountInString(name) > nameMax:
		return "", &InputError{fmt.Sprintf("The name is longer than %d characters.", nameMax)}
	case strings.ContainsFunc(name, func(r rune) bool { return r == '/' || !unicode.IsGraphic(r) }):
		return "", &InputError{"A name has no slash and no invisible characters."}
	}
	return name, nil
}

// CleanText is a text that every store takes: valid UTF-8 without NUL, lines ended by \n.
func CleanText(typed string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "").Replace(strings.ToValidUTF8(typed, "\ufffd"))
}

// State is whether a card is on the board.
type State int

// States.
const (
	Live     State = 0
	Archived State = 1 // not on the board; it can be put back
	Deleted  State = 2 // its texts are gone; the number stays taken
)

// Card is a card as it is now.
type Card struct {
	ID          string // never changes, and is no other card's of any project
	Project     string
	Number      int64
	Title       string
	Description string
	Labels      string // names, with ", " between them
	Column      string // its key
	State       State
	Version     int64 // of title, description and labels, from 1
	MadeBy      string
	MadeAt      time.Time
	MovedAt     time.Time // when it was put where it stands
	Said        int       // how many comments it has
	Place, Of   int       // in a listing: its place in its column, and how many cards that has
}

// Comment is a comment on a card.
type Comment struct {
	ID      string
	Author  string
	Service bool
	Body    string
	Links   []tracker.Link
	Note    string // small print
	At      time.Time
	Proof   stage.Proof // of the author; empty: not known

	EditedAt  time.Time // zero: it says what it has always said
	DeletedBy string    // of one that was deleted, whose Body is empty
}

// IsOf reports whether a person has made the comment.
func (c Comment) IsOf(p Person) bool { return !c.Service && isBy(c.Author, c.Proof, p) }

// isBy reports whether a person has done what was done by a name. One that was only typed proves nothing against one that was proved.
func isBy(name string, proof stage.Proof, p Person) bool {
	return name == p.Name && (proof == stage.ProofNone || p.Proof != "" && p.Proof != stage.ProofNone)
}

// Bounds of the files of a card: a screenshot of a large display has a few MiB, and every run of an agent is given all of them.
const (
	FileMax  = 5 << 20 // bytes of one
	FilesMax = 20
	FilesAll = 20 << 20 // bytes of all
)

// File is a file on a card. Its type is told by what it holds.
type File struct {
	tracker.File
	By Person
	At time.Time
}

// IsOf is as of Comment.
func (f File) IsOf(p Person) bool { return isBy(f.By.Name, f.By.Proof, p) }

// IsImage reports whether a browser may show the file within a page: nothing in a raster image is a script.
func (f File) IsImage() bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, f.Type)
}

// CleanFileName is the last part of a path, in characters that can be seen, at most 100 of them with the ending.
func CleanFileName(given string) string {
	name := given[strings.LastIndexAny(given, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, CleanText(name))
	runes := []rune(strings.Trim(name, ". "))
	return cmp.Or(string(runes[max(0, len(runes)-100):]), "file")
}

// Kinds of entries of a card's log.
const (
	Made       = "made"
	Moved      = "moved"
	Edited     = "edited" // Before has what it said before
	ArchivedIt = "archived"
	RestoredIt = "restored"
	DeletedIt  = "deleted"
	Blocked    = "blocked"   // To is the id of the card that it waits for
	Unblocked  = "unblocked" // as well
	PutBefore  = "before"    // in its column; To is the id of the card that is next to it
	PutBehind  = "behind"    // as well
	Reworded   = "reworded"  // a comment, whose id is To; Before has what it said before
	Unsaid     = "unsaid"    // as well: it was deleted
	Attached   = "attached"  // a file, whose id is To and whose name is Before
	Detached   = "detached"  // as well: it was removed
)

// Entry is one change of a card. The log is only added to.
type Entry struct {
	Card    string
	Project string
	N       int64 // from 1 for each card
	Kind    string
	From    string // of a move: keys of columns
	To      string
	By      string
	Proof   stage.Proof // of who it was; empty for the service's own
	Before  string      // of an edit: title and description, divided by a line's end; of a comment: its text; of a file: its name
	At      time.Time
}

// Delivery names the change in webhooks and events.
func (e Entry) Delivery() string { return fmt.Sprintf("%s/%d", e.Card, e.N) }

// Story is a card with all that belongs to it.
type Story struct {
	Card
	Comments  []Comment // oldest first, with a trace of those that were deleted
	Files     []File    // oldest first
	Log       []Entry   // oldest first
	BlockedBy []Card
	Blocks    []Card
}

// Filter selects cards.
type Filter struct {
	Project string // empty: of all
	State   State
	Number  int64 // 0: any
	Each    int   // at most so many of a column; 0: all
}

// New is a card to make.
type New struct {
	Key                string // the same key and texts make one card
	Once               bool   // the same key alone does
	Project            string
	Title, Description string
	Labels             string // names, with commas between them
	By                 Person
}

// Edit replaces the texts and labels of a card.
type Edit struct {
	ID                 string
	Version            int64 // that the person has seen
	Title, Description string
	Labels             string // as of New
	By                 Person
}

// Saying is a comment to make.
type Saying struct {
	ID, Key, Body string // of the card; the same key and text make one comment
	By            Person
}

// Amendment replaces or deletes a comment; what it said before stays in the log.
type Amendment struct {
	ID, Comment string // of the card, and of the comment
	Body        string
	Delete      bool
	By          Person
}

// Attachment is a file to put on a card.
type Attachment struct {
	ID, Name string // of the card; of the file, which CleanFileName tidies
	Body     []byte // the same name and body make one file
	By       Person
}

// Arrangement changes how a card stands to the board, or to another card. Kind is one of
// ArchivedIt, RestoredIt, DeletedIt, Blocked, Unblocked, PutBefore and PutBehind.
type Arrangement struct {
	ID    string
	Kind  string
	Other string // the id of the card that is waited for, or that it is put next to
	By    Person
}

// Reader reads the board. What does not exist is tracker.ErrNotFound.
type Reader interface {
	// Cards lists cards without their descriptions, by column and, within it, as people have put them. Where nobody has,
	// the newest move is first; in the columns that IsLine names it is last.
	Cards(ctx context.Context, f Filter) ([]Card, error)
	Story(ctx context.Context, id string) (Story, error)
	// Order lists the ids of a project's cards in the columns that IsLine names, next to begin first; none where nobody
	// has put any of them.
	Order(ctx context.Context, project string) ([]string, error)
	// Revision is another text after each change.
	Revision(ctx context.Context) (string, error)
}

// Writer changes the board. A change is durable when its call returns nil. What is wrong
// with the input is an *InputError.
type Writer interface {
	Make(ctx context.Context, n New) (Card, Entry, error)
	// Edit fails with ErrConflict when the card has another version, unless it says the same.
	Edit(ctx context.Context, e Edit) error
	// Move puts a card into a column, by its key, and returns the entry of its log. Where
	// it stands there already that is the entry of the move that has put it there.
	Move(ctx context.Context, id, column string, by Person) (Entry, error)
	Arrange(ctx context.Context, a Arrangement) error
}

// Talk keeps what is said on cards, as Writer does the rest.
type Talk interface {
	Say(ctx context.Context, s Saying) error
	// Amend changes the comment of whoever it is: who may do that is judged before.
	Amend(ctx context.Context, a Amendment) error
}

// Files keeps files on cards. They are read by tracker.Files.
type Files interface {
	tracker.Files
	Attach(ctx context.Context, a Attachment) (File, error)
	// Detach removes a file of whoever it is, as Amend does.
	Detach(ctx context.Context, id, file string, by Person) error
}

// Board is a board of our own.
type Board interface {
	Reader
	Writer
	Talk
	Files
}
