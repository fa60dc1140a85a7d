package sqlstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

const (
	tokenColumns = "name, hash, role, repos, made_at, expires_at"
	allTokens    = "select " + tokenColumns + " from ~access_tokens order by name"
	addToken     = "insert into ~access_tokens (" + tokenColumns + ") values ($1, $2, $3, $4, $5, $6) " +
		"on conflict (name) do nothing returning name"
	dropToken = "delete from ~access_tokens where name = $1 returning name"

	sessionColumns = "id, name, via, credential, memberships, address, began_at, seen_at"
	allSessions    = "select " + sessionColumns + " from ~access_sessions order by began_at, id"
	oneSession     = "select " + sessionColumns + " from ~access_sessions where id = $1"
	addSession     = "insert into ~access_sessions (" + sessionColumns + ") values ($1, $2, $3, $4, $5, $6, $7, $8)"
	touchSession   = "update ~access_sessions set seen_at = $2 where id = $1"
	dropSessions   = "delete from ~access_sessions where id = any($1)"
)

func scanToken(rows Rows) (t access.Token, err error) {
	var repos []byte
	if err = rows.Scan(&t.Name, &t.Hash, (*string)(&t.Grant.Role), &repos, &t.Made, &t.Expires); err != nil {
		return t, err
	}
	return t, json.Unmarshal(repos, &t.Grant.Repos)
}

func (s *Store) Tokens(ctx context.Context) ([]access.Token, error) {
	return list(ctx, s, scanToken, allTokens)
}

// found carries out a statement that returns rows, and reports whether it had one.
func (s *Store) found(ctx context.Context, query string, args ...any) (bool, error) {
	var rows []string
	err := s.Alone(ctx, func(t *Tx) (err error) {
		rows, err = ask(t, scanOne[string], query, args...)
		return err
	})
	return len(rows) > 0, err
}

func (s *Store) AddToken(ctx context.Context, t access.Token) (bool, error) {
	return s.found(ctx, addToken, t.Name, t.Hash, string(t.Grant.Role), encode(t.Grant.Repos), t.Made, t.Expires)
}

func (s *Store) DropToken(ctx context.Context, name string) (bool, error) {
	return s.found(ctx, dropToken, name)
}

func scanSession(rows Rows) (n access.Session, err error) {
	var groups []byte
	if err = rows.Scan(&n.ID, &n.Name, (*string)(&n.Via), &n.Credential, &groups, &n.From, &n.Began, &n.Seen); err != nil {
		return n, err
	}
	return n, json.Unmarshal(groups, &n.Groups)
}

func (s *Store) AddSession(ctx context.Context, n access.Session) error {
	return s.exec(ctx, addSession, n.ID, n.Name, string(n.Via), n.Credential, encode(n.Groups), n.From, n.Began, n.Seen)
}

func (s *Store) Session(ctx context.Context, id string) (access.Session, bool, error) {
	found, err := list(ctx, s, scanSession, oneSession, id)
	if err != nil || len(found) == 0 {
		return access.Session{}, false, err
	}
	return found[0], true, nil
}

func (s *Store) Sessions(ctx context.Context) ([]access.Session, error) {
	return list(ctx, s, scanSession, allSessions)
}

func (s *Store) TouchSession(ctx context.Context, id string, seen time.Time) error {
	return s.exec(ctx, touchSession, id, seen)
}

func (s *Store) DropSessions(ctx context.Context, ids ...string) error {
	return s.exec(ctx, dropSessions, append([]string{}, ids...))
}

var _ access.Store = (*Store)(nil)
