// Package tracker is the port to a project board: the work items that tasks come from, their statuses and their comments. Wire knowledge
// stays in the adapters (adapters/plane); tracker/memtracker is an in-memory double and tracker/trackertest the suite that every
// implementation passes.
//
// Errors follow the contract of package orchestrator/fault.
package tracker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// ErrNotFound means that the tracker has no such project, item or status.
var ErrNotFound = errors.New("tracker: not found")

// ErrNoStatus means that a project's board has no column for a logical status
// and that no fallback applies. For confirm_deploy this means: nothing deploys.
var ErrNoStatus = errors.New("tracker: the project has no such board status")

// NoWayError means that the board moves no card into a column from where one stands, as boards with transitions do. It is
// final: the card is to be moved by one of the ways that there are, or the board to be set up otherwise.
type NoWayError struct {
	To   string   // the column's name
	Ways []string // names of those into which it can be moved
}

// Error says it to the person on the card.
func (e *NoWayError) Error() string {
	text := fmt.Sprintf("the board moves no card into %s from the column where this one stands, ", e.To)
	if len(e.Ways) == 0 {
		return text + "nor into any other"
	}
	return text + "only into " + strings.Join(e.Ways, " or ")
}

// Item is one work item as the board shows it now.
type Item struct {
	ID          string // no item of another project has the same
	ProjectID   string
	Sequence    int64    // the number of the item within its project
	Key         string   // the tracker's own name of it, such as ENG-7; empty: it has none but the number
	URL         string   // of its page; empty: Linker has it
	Title       string   // as typed; may be of any length and script
	Description string   // Markdown, blanks around it trimmed
	Labels      []string // names, in any order
	Status      stage.Status
	StatusName  string // the column's own name
	Finished    bool   // the column means that the work is over: done or given up
	UpdatedAt   time.Time
	MovedAt     time.Time // when it was put into its column; zero: the tracker does not say
}

// Moved is when the item was put where it stands, as far as the tracker says; a change of anything else may be what it is then.
func (i Item) Moved() time.Time {
	return cmp.Or(i.MovedAt, i.UpdatedAt)
}

// Linker has a page for each work item.
type Linker interface {
	// ItemURL is the address of an item's page, whether there is one or not. It does not call the network.
	ItemURL(projectID, itemID string) string
}

// File describes a file on a work item.
type File struct {
	ID   string
	Name string // as its sender calls it: nothing to make a path of
	Size int64  // in bytes
	Type string // media type, such as image/png; empty = not known
}

// Files gives the files of work items.
type Files interface {
	// Files lists those of an item, oldest first.
	Files(ctx context.Context, projectID, itemID string) ([]File, error)
	// OpenFile reads one of them; ErrNotFound when it is gone.
	OpenFile(ctx context.Context, projectID, itemID, fileID string) (io.ReadCloser, error)
}

// Comment is one comment of a work item, its markup stripped.
type Comment struct {
	ID        string
	AuthorID  string
	Body      string
	CreatedAt time.Time
	Own       bool // posted by this service, whoever else uses the account
}

// NewComment is a comment to post.
type NewComment struct {
	ProjectID string
	ItemID    string
	Author    stage.Role // chooses the token; unknown or empty = the shared one
	Key       string     // identity: the same key is posted once, however often it is requested
	// Again means that an earlier attempt may have got through: it is looked for first, where
	// a tracker does not refuse a second one for certain.
	Again bool
	Body  string // plain text; the adapter escapes it and keeps line breaks
	Links []Link // with Note the last line, which is no part of Body
	Note  string // small print, such as what a run has cost; plain text in one line
}

// Link is a name that leads to an address.
type Link struct{ Name, URL string }

// Plain is the comment for boards that have no markup.
func (c NewComment) Plain() string {
	var parts []string
	for _, l := range c.Links {
		parts = append(parts, l.Name+": "+l.URL)
	}
	if c.Note != "" {
		parts = append(parts, c.Note)
	}
	if len(parts) == 0 {
		return c.Body
	}
	return c.Body + "\n" + strings.Join(parts, " · ")
}

// ErrUnderWay means that an attempt to post a comment was not answered a moment ago and may still
// be carried out: another one now could double it.
var ErrUnderWay = errors.New("tracker: an earlier attempt to post the comment may still be under way")

// Query selects work items. Statuses empty means all.
type Query struct {
	ProjectID string
	Statuses  []stage.Status
	Placed    bool      // without Statuses: those that stand in no column may be left out
	Since     time.Time // only items updated at or after it; zero = all
	Cursor    string    // from Page.Next
}

// Page is one page of a listing. Next is empty on the last page. Descriptions and labels may be left out.
type Page struct {
	Items []Item
	Next  string
	Total int // items of the project, whatever the query; 0: the tracker does not count them
}

// Tracker reads and writes a board. Implementations are safe for concurrent use.
type Tracker interface {
	// Item reads one work item. ErrNotFound when it does not exist.
	Item(ctx context.Context, projectID, itemID string) (Item, error)
	// List reads work items newest change first.
	List(ctx context.Context, q Query) (Page, error)
	// SetStatus moves an item. Setting the status that it has is a success. ErrNoStatus when the project has no column for it and no
	// fallback; a *NoWayError when it cannot be reached from where the item stands.
	SetStatus(ctx context.Context, projectID, itemID string, status stage.Status) error
	// Comments lists the comments of an item, oldest first. ErrUnidentified while the service's own cannot be recognised. Of an item that
	// does not exist there are none, or ErrNotFound.
	Comments(ctx context.Context, projectID, itemID string) ([]Comment, error)
	// AddComment posts a comment once per key and returns its id. ErrUnderWay when that is not known to be safe yet.
	AddComment(ctx context.Context, c NewComment) (string, error)
}

// Editor keeps a comment up to date.
type Editor interface {
	// SetComment posts a comment under its key, or gives the one that is there under the
	// key another text. ErrNotFound when there is no such item.
	SetComment(ctx context.Context, c NewComment) error
}

// ErrUnidentified means that the tracker has not answered yet which accounts are the service's own.
var ErrUnidentified = errors.New("tracker: which accounts are the service's own is not known yet")

// Accounts distinguishes the service's own accounts from people's.
type Accounts interface {
	// Own reports whether an account is one that the service acts as; the empty id is not. A person may use it as well: a move by it is
	// the service's when the service has set that status. ErrUnidentified until the tracker has answered which ones are: an account must
	// not be taken for a person's before. It does not call the network.
	Own(accountID string) (bool, error)
}

// Board returns which columns a project has.
type Board interface {
	// Columns maps each logical status to the name of the column that serves it in the project; a status that nothing serves is absent.
	Columns(ctx context.Context, projectID string) (map[stage.Status]string, error)
	// StatusOf is the logical status of a column, which is called as a Hook's To calls it; stage.StatusUnknown when it serves none.
	StatusOf(ctx context.Context, projectID, column string) (stage.Status, error)
}

// ErrNoLog means that the tracker (or its version) keeps no log of moves, or that an item's does not hold any.
var ErrNoLog = errors.New("tracker: who has moved the item is not logged here")

// Move is one change of a work item's status.
type Move struct {
	To      string    // the column, called as a Hook's To is; empty for the one that the item was made in
	ActorID string    // account that has moved it; empty when the log has none
	At      time.Time // by the tracker's clock
	ID      string    // of the log's entry; empty when it has none
	// Earlier are moves before it, newest first, as far as the log was read: a word that was overwritten is found there.
	Earlier []Move `json:"-"`
	// Proof names what shows that it was the actor; empty = the log itself does. A board of our
	// own has ProofNone for a name that was only typed.
	Proof stage.Proof
}

// Log returns who moved a work item. A log may come a moment after the move.
type Log interface {
	// LastMove is the newest change of an item's status, by anybody; ErrNoLog when the
	// tracker keeps none, ErrNotFound when there is no such item.
	LastMove(ctx context.Context, projectID, itemID string) (Move, error)
}

// Person is an account as the tracker describes it. Empty fields are not known.
type Person struct {
	ID    string
	Name  string
	Email string
	Role  string // the tracker's own word, in lower case, such as admin
}

// People describes the accounts of a tracker.
type People interface {
	// Person describes an account and its role in a project; ErrNotFound when the tracker has none to describe.
	Person(ctx context.Context, projectID, accountID string) (Person, error)
}

// Budget is how many requests a token may make in a minute, as far as the tracker has said.
type Budget struct {
	Token  string    `json:"token"` // what it is for, never itself
	Limit  int       `json:"limit"` // of a minute; 0: not known
	Used   int       `json:"used"`  // of them, in the last minute
	Paused time.Time `json:"paused_until,omitzero"`
}

// String is the budget for people.
func (b Budget) String() string {
	text := fmt.Sprintf("%s: %d of %d requests a minute", b.Token, b.Used, b.Limit)
	if !b.Paused.IsZero() {
		text += ", paused until " + b.Paused.UTC().Format(time.TimeOnly) + " UTC"
	}
	return text
}

// ErrBudget means that a request was not sent: those that the tracker allows are used up, or kept for
// what comes first. It is retryable after a moment, and says nothing of whether the tracker answers.
var ErrBudget = errors.New("tracker: the requests of this minute are used up")

// Budgeted is a tracker that limits requests.
type Budgeted interface {
	// Budgets lists the tokens' budgets. It does not call the network.
	Budgets() []Budget
}

// Recent returns what was seen last.
type Recent interface {
	// Recent is a work item as it was some seconds ago at most: as this process has read it or written to it last; others may have written
	// since, so that nothing about a person follows from it. ok is false when it was not. It does not call the network.
	Recent(projectID, itemID string) (item Item, ok bool)
}

// Maker makes items and takes them away. Trackers may implement it: a board is tried with an item of the service's own.
type Maker interface {
	// MakeItem makes an item, in the column that new ones stand in.
	MakeItem(ctx context.Context, projectID, title string) (Item, error)
	// RemoveItem removes an item. A tracker that deletes none closes it and takes it out of its column.
	RemoveItem(ctx context.Context, projectID, itemID string) error
}

// ErrNoRelations means that the tracker (or its version) has no relations.
var ErrNoRelations = errors.New("tracker: relations are not known here")

// Ref names a work item.
type Ref struct{ ProjectID, ItemID string }

// Relations returns which work items must be finished before another.
type Relations interface {
	// BlockedBy lists the prerequisites of an item; ErrNoRelations when the tracker has none.
	BlockedBy(ctx context.Context, projectID, itemID string) ([]Ref, error)
}

// Hook kinds.
const (
	HookItemCreated = "item_created"
	HookItemUpdated = "item_updated"
	HookItemRemoved = "item_removed" // deleted, archived or moved to another project; not every tracker sends one
	HookComment     = "comment"
	HookOther       = "other" // understood, and of no interest
)

// Hook is one webhook of a tracker, decoded. It is a hint: the engine reads the item again and acts on what the tracker says then. Only a
// person's STOP is taken from the hook itself, whatever the item shows by now, and that an item was removed, while it cannot be read.
type Hook struct {
	Kind      string
	Event     string // the tracker's own name of it, for logs
	ProjectID string
	ItemID    string
	ActorID   string // account that caused it; empty when the payload has none
	Actor     Person `json:",omitzero"` // the same account, as far as the payload describes it
	// Self means a comment of the service's own, or one caused by an account that was known as one
	// of its own when it was decoded; a person may have the same account.
	Self     bool
	Status   bool   // the status is what changed
	Browser  bool   `json:",omitempty"` // made on the tracker's own pages, and so by a person, whatever the account
	To       string `json:",omitempty"` // the column that it changed to, by id or name; empty when the payload has none
	Finished bool   `json:",omitempty"` // that column ends work at the tracker, as far as the payload tells
	Column   string `json:",omitempty"` // its name, as far as the payload tells
	// Word is the status that To means, as far as the receiver can tell without a call; StatusUnknown when it cannot.
	Word stage.Status `json:",omitempty"`
	// At is when it was changed, by the tracker's clock; zero when the payload has no time, or not of this change.
	At       time.Time `json:",omitzero"`
	Unsigned bool      `json:",omitempty"` // nothing proves who has sent it
	// Via and Proof are the way that it came by and what proves the actor; empty = a webhook, and its signature unless it is Unsigned.
	Via   stage.Via   `json:",omitempty"`
	Proof stage.Proof `json:",omitempty"`
	Body  string      // of a comment, Markdown
}

// Receiver is the edge of a tracker's webhooks. Its methods are pure.
type Receiver interface {
	// Signature begins the check of a body, by the headers alone: an error, such as
	// signature.ErrMissing, means that they carry no signature of the right form.
	Signature(h http.Header) (*signature.Check, error)
	// Delivery names the delivery and the event by the headers.
	Delivery(h http.Header) (id, event string)
	// Decode reads the payload. An error means that it is not what it says.
	Decode(event string, body []byte) (Hook, error)
	// Habits are those of the sender.
	Habits() signature.Habits
}
