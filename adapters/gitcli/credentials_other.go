//go:build !linux

package gitcli

import (
	"context"
	"errors"
	"os"
)

func (g *Git) credentials(context.Context, string) (*os.File, error) {
	if g.opt.Tokens != nil {
		return nil, errors.New("gitcli: Options.Tokens are for Linux only: run the service there")
	}
	return nil, nil //nolint:nilnil // there is none, and that is no error
}
