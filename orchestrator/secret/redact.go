package secret

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Lengths of values that are hidden, in bytes. Shorter ones occur anyway, and so do words: to
// hide the password developer or signalbox would change the names of roles and refs in a store.
const (
	least     = 8
	leastWord = 16 // of lower-case letters and - _ . / alone
)

// Redactor replaces secrets in what leaves a program by as many asterisks: nothing moves,
// so that lengths and offsets stay what they are. It finds values as they are, escaped as
// in JSON, Go, HTML and addresses, and within unbroken base64. It is safe for concurrent use;
// nil and the zero value hide nothing.
type Redactor struct {
	mu     sync.Mutex
	values []string
	table  atomic.Pointer[table] // of values; nil: nothing is hidden
}

// NewRedactor makes one that hides values.
func NewRedactor(values ...string) *Redactor {
	r := &Redactor{}
	r.Hide(values...)
	return r
}

// Hide adds values that are hidden from now on; what is shorter than 8 bytes is not, nor
// is a word of lower-case letters that is shorter than 16.
func (r *Redactor) Hide(values ...string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range values {
		hidden := len(v) >= leastWord || len(v) >= least && strings.Trim(v, "abcdefghijklmnopqrstuvwxyz-_./") != ""
		if hidden && !slices.Contains(r.values, v) {
			r.values = append(r.values, v)
		}
	}
	if len(r.values) > 0 {
		r.table.Store(newTable(r.values))
	}
}

// Bytes returns b, or a copy of it in which secrets are replaced.
func (r *Redactor) Bytes(b []byte) []byte {
	out, _ := r.now().replace(b)
	return out
}

// Text returns s with secrets replaced.
func (r *Redactor) Text(s string) string {
	given := []byte(s)
	if out, end := r.now().replace(given); end > 0 {
		return string(out)
	}
	return s
}

// Error returns err, or an error that it wraps whose text has secrets replaced.
func (r *Redactor) Error(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); r.Text(text) != text {
		return &redactedError{err, r}
	}
	return err
}

// redactedError is an error whose text may hold a secret.
type redactedError struct {
	error
	by *Redactor
}

func (e *redactedError) Error() string { return e.by.Text(e.error.Error()) }

// Unwrap gives the error for errors.Is and As; its own text is as it was.
func (e *redactedError) Unwrap() error { return e.error }

func (r *Redactor) now() *table {
	if r == nil {
		return nil
	}
	return r.table.Load()
}

// table finds the forms of values.
type table struct {
	first   [256][]string // forms by their first byte, the longest first
	pairs   [1 << 16]bool // the first two bytes of forms: most of a text begins none
	longest int
}

func newTable(values []string) *table {
	t := &table{}
	var all []string
	for _, v := range values {
		all = append(all, forms(v)...)
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	for _, form := range slices.Compact(all) {
		t.first[form[0]] = append(t.first[form[0]], form)
		t.pairs[int(form[0])<<8|int(form[1])] = true
		t.longest = max(t.longest, len(form))
	}
	return t
}

// at is the length of the longest form that b begins with; 0: none.
func (t *table) at(b []byte) int {
	for _, form := range t.first[b[0]] {
		if len(form) <= len(b) && string(b[:len(form)]) == form {
			return len(form)
		}
	}
	return 0
}

// replace returns b, or a copy of it in which forms are replaced, and where the last of them
// ends; 0: there is none. Forms that overlap are all replaced.
func (t *table) replace(b []byte) (out []byte, end int) {
	if t == nil {
		return b, 0
	}
	out = b
	for i := 0; i+1 < len(b); i++ {
		if !t.pairs[int(b[i])<<8|int(b[i+1])] {
			continue
		}
		n := t.at(b[i:])
		if n == 0 {
			continue
		}
		if end == 0 {
			out = bytes.Clone(b)
		}
		end = max(end, i+n)
		stars(out[i : i+n])
	}
	return out, end
}

// opens is where a form may begin of which b has only the first bytes, at least so many;
// len(b): nowhere.
func (t *table) opens(b []byte, atLeast int) int {
	if t == nil {
		return len(b)
	}
	for i := max(0, len(b)-t.longest+1); i <= len(b)-atLeast && i < len(b); i++ {
		for _, form := range t.first[b[i]] {
			if rest := len(b) - i; rest < len(form) && form[:rest] == string(b[i:]) {
				return i
			}
		}
	}
	return len(b)
}

func stars(b []byte) {
	for i := range b {
		b[i] = '*'
	}
}
