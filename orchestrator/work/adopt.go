package work

import (
	"context"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Adopter takes in what others push to task branches. It changes no remote branch, and no checkout.
type Adopter interface {
	// Adopt looks where the remote task branch is. When others have gone on from pushed, where it was left,
	// their commits are brought into the mirror, checked as those of an attempt, and its branch to them, with
	// the commits of Workspace.Head that they lack on top. Without a SHA they have not: Push.SHA is a push of the
	// service's own, then, which was not recorded. ErrMoved when the branch was set elsewhere, ErrRemoved when
	// there is none any more.
	Adopt(ctx context.Context, s Workspace, pushed string) (Adopted, error)
	// Join puts the commits of Workspace.Head that a commit of the branch lacks on top of that.
	Join(ctx context.Context, s Workspace, onto string) (Adopted, error)
	// Heads lists the commits of the remote's branches, by name.
	Heads(ctx context.Context, s Workspace) (map[string]string, error)
}

// Adopted is a branch that has the commits of others. Where ours conflict with them they are Left, and
// Push.Conflicts has the files.
type Adopted struct {
	SHA  string // its tip
	Push stage.Push
	Left Left
}

// AuthorsMax and AuthorMax bound what a Push has of authors, in names and in characters of one.
const (
	AuthorsMax = 3
	AuthorMax  = 60
)
