package setup

import (
	"context"

	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/proposal"
)

// Accounts are those of other services that cards and code are kept at. A further one has its flags and its line here.
type Accounts struct {
	plane.OnPlane
	github.OnGitHub
	gitea.OnGitea
	labelboard.OnLabels
}

type proposer interface {
	// Propose returns nil where the account is not chosen.
	Propose(ctx context.Context, a proposal.Answers) (*proposal.Account, error)
}

func (a *Accounts) list() []proposer {
	return []proposer{&a.OnPlane, &a.OnGitHub, &a.OnGitea, &a.OnLabels}
}
