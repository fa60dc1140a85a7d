package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Token is a named token as it is kept: its hash.
type Token struct {
	Name    string
	Hash    string // of Hash
	Grant   Grant
	Made    time.Time
	Expires time.Time // zero = never
}

// Live reports whether the token is valid at a moment.
func (t Token) Live(now time.Time) bool { return t.Expires.IsZero() || now.Before(t.Expires) }

// Session is a sign-in of a browser.
type Session struct {
	ID         string // Hash of what the cookie has
	Name       string
	Via        Via
	Credential string   // Hash of the token, by ViaToken: the session ends with it; the Subject, by ViaProvider
	Groups     []string // by ViaProvider
	From       string
	Began      time.Time
	Seen       time.Time
}

// Tokens keeps named tokens.
type Tokens interface {
	// Tokens lists all of them, by name.
	Tokens(ctx context.Context) ([]Token, error)
	// AddToken adds one; false: the name is taken.
	AddToken(ctx context.Context, t Token) (added bool, err error)
	// DropToken removes one; false: there was none.
	DropToken(ctx context.Context, name string) (dropped bool, err error)
}

// Sessions keeps sessions.
type Sessions interface {
	AddSession(ctx context.Context, s Session) error
	Session(ctx context.Context, id string) (s Session, found bool, err error)
	// Sessions lists all of them, the oldest first.
	Sessions(ctx context.Context) ([]Session, error)
	// TouchSession notes when a session was used last; one that is gone stays so.
	TouchSession(ctx context.Context, id string, seen time.Time) error
	DropSessions(ctx context.Context, ids ...string) error
}

// Store keeps both. Processes that serve the same people share it.
type Store interface {
	Tokens
	Sessions
}

// Hash is how tokens and cookies are kept: SHA-256 is enough for what is drawn by chance from
// 128 bits or more.
func Hash(secret string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(secret)))
}

// Tokens that name no person: the one that is a setting, whose name no other one has, and that of FirstToken.
const (
	adminName = "admin"
	firstName = "first"
)

// tokenPrefix lets people, and scanners of repositories, see what a token is for.
const tokenPrefix = "sbx_"

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// Draw makes a secret of 130 random bits.
func Draw() string { return strings.ToLower(rand.Text()) }

// NewToken draws a token; secret is shown once and kept nowhere.
func NewToken(name string, g Grant, now, expires time.Time) (t Token, secret string, err error) {
	if !nameForm.MatchString(name) || name == adminName {
		return t, "", fmt.Errorf("the name %q: want letters, digits, and . _ @ - between them, at most 64, "+
			"and not %s, which is ORCH_ADMIN_TOKEN", name, adminName)
	}
	if _, err := parseGrant(g.String()); err != nil {
		return t, "", err
	}
	secret = tokenPrefix + Draw()
	return Token{Name: name, Hash: Hash(secret), Grant: g, Made: now, Expires: expires}, secret, nil
}

// Memory is a Store of one process, forgotten with it.
type Memory struct {
	mu       sync.Mutex
	tokens   map[string]Token
	sessions map[string]Session
}

// NewMemory makes an empty one.
func NewMemory() *Memory {
	return &Memory{tokens: map[string]Token{}, sessions: map[string]Session{}}
}

// Tokens implements Store.
func (m *Memory) Tokens(context.Context) ([]Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.tokens), func(a, b Token) int { return strings.Compare(a.Name, b.Name) }), nil
}

// AddToken implements Store.
func (m *Memory) AddToken(_ context.Context, t Token) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, taken := m.tokens[t.Name]; taken {
		return false, nil
	}
	m.tokens[t.Name] = t
	return true, nil
}

// DropToken implements Store.
func (m *Memory) DropToken(_ context.Context, name string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, there := m.tokens[name]
	delete(m.tokens, name)
	return there, nil
}

// AddSession implements Store.
func (m *Memory) AddSession(_ context.Context, s Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions[s.ID] = s
	return nil
}

// Session implements Store.
func (m *Memory) Session(_ context.Context, id string) (Session, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.sessions[id]
	return s, ok, nil
}

// Sessions implements Store.
func (m *Memory) Sessions(context.Context) ([]Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.sessions), func(a, b Session) int { return a.Began.Compare(b.Began) }), nil
}

// TouchSession implements Store.
func (m *Memory) TouchSession(_ context.Context, id string, seen time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.sessions[id]; ok {
		s.Seen = seen
		m.sessions[id] = s
	}
	return nil
}

// DropSessions implements Store.
func (m *Memory) DropSessions(_ context.Context, ids ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		delete(m.sessions, id)
	}
	return nil
}

var _ Store = (*Memory)(nil)
