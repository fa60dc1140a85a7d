//go:build !linux

package gitcli

import (
	"errors"
	"os"
)

func (g *Git) credentials(string) (*os.File, error) {
	if len(g.opt.Tokens) > 0 {
		return nil, errors.New("gitcli: Options.Tokens are for Linux only: run the service there")
	}
	return nil, nil //nolint:nilnil // there is none, and that is no error
}
