// Package memtracker is a board in memory: the double of package tracker. It
// passes the suite in tracker/trackertest.
package memtracker

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault/memfault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Board is a tracker.Tracker, with every optional port of package tracker, in memory. Its calls
// can be made to fail.
type Board struct {
	memfault.Switch

	now func() time.Time

	mu        sync.Mutex
	columns   map[string][]stage.Status       // of each project; nil = all
	ways      map[stage.Status][]stage.Status // where a card may go from a column that is listed
	items     map[string]map[string]placed    // by project and id
	puts      int
	comments  map[string][]tracker.Comment // by item
	posted    map[[2]string]string         // ids of comments by project and key
	moves     []Move
	log       map[string][]tracker.Move // by item; see Log
	logless   bool                      // there is no log
	proof     stage.Proof               // that moves have in the log
	people    map[string]tracker.Person
	nameless  bool // which accounts are ours is not known
	blockedBy map[string][]string
	files     map[string][]tracker.File // by item
	bodies    map[string][]byte         // by item and file
	last      int
}

// placed is an item with the number of the change that has placed it.
type placed struct {
	tracker.Item

	at int
}

// Move is one change of a status through SetStatus.
type Move struct {
	ItemID string
	To     stage.Status
}

// New makes a board without projects. A nil clock means time.Now.
func New(now func() time.Time) *Board {
	if now == nil {
		now = time.Now
	}
	return &Board{
		now: now, items: map[string]map[string]placed{}, blockedBy: map[string][]string{}, log: map[string][]tracker.Move{},
		people: map[string]tracker.Person{}, posted: map[[2]string]string{},
		columns: map[string][]stage.Status{}, comments: map[string][]tracker.Comment{},
		files: map[string][]tracker.File{}, bodies: map[string][]byte{},
	}
}

// AddProject adds a project with the given columns; none = all.
func (b *Board) AddProject(id string, columns ...stage.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.columns[id] = columns
}

// Somebody is the account of the person who acts through Put.
const Somebody = "somebody"

// Put adds or replaces an item, as a person would.
func (b *Board) Put(i tracker.Item) { b.PutAs(Somebody, i) }

// PutAs adds or replaces an item, as an account would.
func (b *Board) PutAs(account string, i tracker.Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put(account, i)
}

// Remove takes an item off the board, as a person would.
func (b *Board) Remove(projectID, itemID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.items[projectID], itemID)
}

// SetLogged sets whether the board returns who has moved items, as it does from the
// beginning.
func (b *Board) SetLogged(is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.logless = !is
}

// SetProof sets what the log says that proves who has moved items; empty, as from the
// beginning, says that the log itself does.
func (b *Board) SetProof(p stage.Proof) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.proof = p
}

// AddPerson describes an account.
func (b *Board) AddPerson(p tracker.Person) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.people[p.ID] = p
}

// LastMove implements tracker.Log.
func (b *Board) LastMove(ctx context.Context, projectID, itemID string) (tracker.Move, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.find(ctx, "LastMove", projectID, itemID); err != nil {
		return tracker.Move{}, err
	}
	if b.logless {
		return tracker.Move{}, tracker.ErrNoLog
	}
	list := b.log[itemID]
	m := list[len(list)-1]
	m.Proof, m.ID = b.proof, fmt.Sprintf("%s/%d", itemID, len(list))
	m.Earlier = slices.Clone(list[:len(list)-1])
	slices.Reverse(m.Earlier)
	return m, nil
}

// Person implements tracker.People; a role is the same in all projects that there are.
func (b *Board) Person(ctx context.Context, projectID, accountID string) (tracker.Person, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.board(ctx, "Person", projectID); err != nil {
		return tracker.Person{}, err
	}
	if p, ok := b.people[accountID]; ok {
		return p, nil
	}
	return tracker.Person{}, tracker.ErrNotFound
}

func (b *Board) put(account string, i tracker.Item) {
	before, known := b.items[i.ProjectID][i.ID]
	i.UpdatedAt = b.now()
	switch {
	case !known && len(b.log[i.ID]) > 0: // it was removed, and is back
		i.MovedAt = b.log[i.ID][len(b.log[i.ID])-1].At
	case !known:
		i.MovedAt = i.UpdatedAt
		b.log[i.ID] = []tracker.Move{{ActorID: account, At: i.UpdatedAt}}
	case before.Status != i.Status || before.StatusName != i.StatusName:
		i.MovedAt = i.UpdatedAt
		b.log[i.ID] = append(b.log[i.ID], tracker.Move{To: cmp.Or(string(i.Status), i.StatusName), ActorID: account, At: i.UpdatedAt})
	default:
		i.MovedAt = before.MovedAt
	}
	if info, ok := stage.StatusNamed(i.Status); ok {
		i.StatusName = info.Name
	}
	i.Finished = i.Status == stage.StatusDone || i.Finished && i.Status == stage.StatusUnknown // not by where it stood before
	if b.items[i.ProjectID] == nil {
		b.items[i.ProjectID] = map[string]placed{}
	}
	b.puts++
	b.items[i.ProjectID][i.ID] = placed{i, b.puts}
}

// Say adds a person's comment.
func (b *Board) Say(itemID, author, body string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	said := tracker.Comment{ID: strconv.Itoa(b.last), AuthorID: author, Body: body, CreatedAt: b.now()}
	b.comments[itemID] = append(b.comments[itemID], said)
}

// SetIdentified sets whether the board has answered which accounts are the
// service's own, as it has from the beginning.
func (b *Board) SetIdentified(is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.nameless = !is
}

// Own implements tracker.Accounts.
func (b *Board) Own(accountID string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.nameless {
		return false, tracker.ErrUnidentified
	}
	return strings.HasPrefix(accountID, own), nil
}

// own is how the ids of the service's accounts begin.
const own = "service/"

// Moves lists the statuses that were set through SetStatus.
func (b *Board) Moves() []Move {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.moves)
}

// find begins every call on an item.
func (b *Board) find(ctx context.Context, call, projectID, itemID string) (tracker.Item, error) {
	if err := b.Failure(ctx, call); err != nil {
		return tracker.Item{}, err
	}
	if i, ok := b.items[projectID][itemID]; ok {
		return i.Item, nil
	}
	return tracker.Item{}, fmt.Errorf("%w: item %s", tracker.ErrNotFound, itemID)
}

// Item implements tracker.Tracker.
func (b *Board) Item(ctx context.Context, projectID, itemID string) (tracker.Item, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.find(ctx, "Item", projectID, itemID)
}

// List implements tracker.Tracker.
func (b *Board) List(ctx context.Context, q tracker.Query) (tracker.Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var p tracker.Page
	if err := b.Failure(ctx, "List"); err != nil {
		return p, err
	}
	if _, ok := b.columns[q.ProjectID]; !ok {
		return p, tracker.ErrNotFound
	}
	newest := func(x, y placed) int { return cmp.Or(y.UpdatedAt.Compare(x.UpdatedAt), x.at-y.at) }
	for _, i := range slices.SortedFunc(maps.Values(b.items[q.ProjectID]), newest) {
		if !i.UpdatedAt.Before(q.Since) && (len(q.Statuses) == 0 || slices.Contains(q.Statuses, i.Status)) {
			p.Items = append(p.Items, i.Item)
		}
	}
	return p, nil
}

// SetStatus implements tracker.Tracker.
func (b *Board) SetStatus(ctx context.Context, projectID, itemID string, s stage.Status) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, err := b.find(ctx, "SetStatus", projectID, itemID)
	if err != nil {
		return err
	}
	column, ok := b.column(projectID, s)
	if !ok {
		return fmt.Errorf("%w: %s", tracker.ErrNoStatus, s)
	}
	if i.Status != column {
		if err := b.wayTo(i.Status, column); err != nil {
			return err
		}
		i.Status = column
		b.put(own, i)
		b.moves = append(b.moves, Move{itemID, column})
	}
	return nil
}

// Comments implements tracker.Tracker.
func (b *Board) Comments(ctx context.Context, projectID, itemID string) ([]tracker.Comment, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.find(ctx, "Comments", projectID, itemID); err != nil {
		return nil, err
	}
	if b.nameless {
		return nil, tracker.ErrUnidentified
	}
	return slices.Clone(b.comments[itemID]), nil
}

// AddComment implements tracker.Tracker. A key is taken within a project, as it
// is on a real board.
func (b *Board) AddComment(ctx context.Context, n tracker.NewComment) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.find(ctx, "AddComment", n.ProjectID, n.ItemID); err != nil {
		return "", err
	}
	key := [2]string{n.ProjectID, n.Key}
	if id, ok := b.posted[key]; ok && n.Key != "" {
		return id, nil
	}
	return b.post(n), nil
}

// SetComment implements tracker.Editor.
func (b *Board) SetComment(ctx context.Context, n tracker.NewComment) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.find(ctx, "SetComment", n.ProjectID, n.ItemID); err != nil {
		return err
	}
	for i, c := range b.comments[n.ItemID] {
		if c.ID == b.posted[[2]string{n.ProjectID, n.Key}] {
			b.comments[n.ItemID][i].Body = n.Body
			return nil
		}
	}
	b.post(n)
	return nil
}

// post adds a comment of ours.
func (b *Board) post(n tracker.NewComment) string {
	b.last++
	c := tracker.Comment{
		ID: strconv.Itoa(b.last), AuthorID: own + string(n.Author), Body: n.Plain(), CreatedAt: b.now(), Own: true,
	}
	b.comments[n.ItemID] = append(b.comments[n.ItemID], c)
	b.posted[[2]string{n.ProjectID, n.Key}] = c.ID
	return c.ID
}

// Attach puts a file on an item.
func (b *Board) Attach(itemID, name string, body []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	f := tracker.File{ID: strconv.Itoa(b.last), Name: name, Size: int64(len(body)), Type: http.DetectContentType(body)}
	b.files[itemID] = append(b.files[itemID], f)
	b.bodies[itemID+"/"+f.ID] = body
}

// Files implements tracker.Files.
func (b *Board) Files(ctx context.Context, projectID, itemID string) ([]tracker.File, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.find(ctx, "Files", projectID, itemID)
	return b.files[itemID], err
}

// OpenFile implements tracker.Files.
func (b *Board) OpenFile(ctx context.Context, projectID, itemID, fileID string) (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.find(ctx, "OpenFile", projectID, itemID)
	body, there := b.bodies[itemID+"/"+fileID]
	if err == nil && !there {
		err = fmt.Errorf("%w: file %s", tracker.ErrNotFound, fileID)
	}
	return io.NopCloser(bytes.NewReader(body)), err
}

// ItemURL implements tracker.Linker.
func (b *Board) ItemURL(projectID, itemID string) string {
	return "https://board.example.org/" + projectID + "/" + itemID
}

// Block makes an item a prerequisite of another of its project.
func (b *Board) Block(itemID string, by ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.blockedBy[itemID] = by
}

// BlockedBy implements tracker.Relations.
func (b *Board) BlockedBy(ctx context.Context, projectID, itemID string) ([]tracker.Ref, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.find(ctx, "BlockedBy", projectID, itemID); err != nil {
		return nil, err
	}
	var out []tracker.Ref
	for _, id := range b.blockedBy[itemID] {
		out = append(out, tracker.Ref{ProjectID: projectID, ItemID: id})
	}
	return out, nil
}
