package task

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Link is a journal entry with its place in the chain: Hash covers Prev and the entry, and Prev is
// the Hash of the entry before it. Both are empty for an entry that was written before the
// store kept a chain.
type Link struct {
	Entry      JournalEntry
	Prev, Hash []byte
}

// Chain is a store that keeps its journal as a chain.
type Chain interface {
	// Links lists entries with larger ids than after, oldest first, at most limit.
	Links(ctx context.Context, after int64, limit int) ([]Link, error)
	// Head is the Hash of the newest entry; nil = none has a link.
	Head(ctx context.Context) ([]byte, error)
}

// LinkSize is the length of a hash in bytes.
const LinkSize = sha256.Size

// NextHash is the hash of an entry that follows prev (nil = it is the first). The id is not in it:
// the order of ids is what the chain proves.
func NextHash(prev []byte, e JournalEntry) []byte {
	h := sha256.New()
	h.Write(prev)
	var fixed []byte
	for _, n := range []int64{e.TaskID, e.Seq, e.At.UnixMicro(), int64(len(e.Kind)), int64(len(e.Payload))} {
		fixed = binary.BigEndian.AppendUint64(fixed, uint64(n))
	}
	h.Write(fixed)
	h.Write([]byte(e.Kind))
	h.Write(e.Payload)
	return h.Sum(nil)
}

// Audit holds what is found in a chain.
type Audit struct {
	Entries int      // with a link
	Before  int      // of before the chain
	Head    []byte   // of the chain as it was when it was begun to be read
	Broken  []string // what does not hold; empty: every entry is as it was written
}

// auditPage is how many entries are read at a time.
const auditPage = 500

// Verify reads a chain from its beginning, while others may write. What was changed, removed,
// inserted or moved in the database since it was written is in Broken, with the id of the entry.
// Whoever can write there can make the whole chain anew: keep heads elsewhere, and compare.
func Verify(ctx context.Context, c Chain) (a Audit, err error) {
	if a.Head, err = c.Head(ctx); err != nil {
		return a, err
	}
	var prev []byte
	last, headSeen := int64(0), a.Head == nil
	for {
		page, err := c.Links(ctx, last, auditPage)
		if err != nil || len(page) == 0 {
			if err == nil && !headSeen {
				lost := fmt.Sprintf("entries are missing behind entry %d: the newest one that was written is not there", last)
				a.Broken = append(a.Broken, lost)
			}
			return a, err
		}
		for _, l := range page {
			if wrong := l.wrong(prev, last, a.Entries > 0); wrong != "" {
				a.Broken = append(a.Broken, wrong)
			}
			if last = l.Entry.ID; len(l.Hash) == 0 {
				a.Before++
				continue
			}
			a.Entries++
			prev, headSeen = l.Hash, headSeen || bytes.Equal(l.Hash, a.Head)
		}
	}
}

// wrong says what does not hold of one link behind the entry last; begun: the chain has.
func (l Link) wrong(prev []byte, last int64, begun bool) string {
	id := l.Entry.ID
	switch {
	case len(l.Hash) == 0 && !begun:
		return ""
	case len(l.Hash) == 0:
		return fmt.Sprintf("entry %d has no link: it was inserted, or its link was removed", id)
	case !bytes.Equal(l.Hash, NextHash(l.Prev, l.Entry)):
		return fmt.Sprintf("entry %d was changed after it was written", id)
	case !bytes.Equal(l.Prev, prev):
		return fmt.Sprintf("entry %d does not follow entry %d: something between them was removed, inserted or moved", id, last)
	}
	return ""
}
