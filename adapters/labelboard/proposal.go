package labelboard

import (
	"context"

	"github.com/signalbox-dev/signalbox/internal/proposal"
)

// OnLabels holds what init is told.
type OnLabels struct {
	Labels bool `help:"Cards are the repository's issues, and labels the columns; with a flag of a git host."`
}

// Propose implements the proposal of an account; nil where it is not chosen.
func (o *OnLabels) Propose(context.Context, proposal.Answers) (*proposal.Account, error) {
	if !o.Labels {
		return nil, nil
	}
	return &proposal.Account{
		Flag: "--labels", Board: true, Name: "issues", Kind: "labels",
		Secret: "BOARD_WEBHOOK_SECRET", Why: "of the webhooks of the issues, which are the board",
	}, nil
}
