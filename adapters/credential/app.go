package credential

import (
	"context"
	"time"
)

// host is the git host's app, which gives tokens for single repositories. github.Client is one.
type host interface {
	MintToken(ctx context.Context, repo string, permissions map[string]string) (token string, expires time.Time, err error)
	RevokeToken(ctx context.Context, token string) error
}

// App mints tokens of an app for the repository of the execution alone.
type App struct {
	Host        host
	Path        func(repo string) string // name of the repository at the host
	Permissions map[string]string        // such as contents: write
}

// Mint implements Minter.
func (a App) Mint(ctx context.Context, f For) (minted, error) {
	token, expires, err := a.Host.MintToken(ctx, a.Path(f.Repo), a.Permissions)
	return minted{Secret: token, Expires: expires}, err
}

// Revoke implements Minter.
func (a App) Revoke(ctx context.Context, _ For, token string) error {
	if token == "" {
		return ErrNeedsSecret
	}
	return a.Host.RevokeToken(ctx, token)
}
