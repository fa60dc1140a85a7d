package gitcli

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// credentials makes a file without a name that has the tokens as configuration of git,
// for a call to a remote over HTTP; nil when it needs none. Whatever such a call starts
// inherits the open file; neither its arguments nor its environment have a token. Git
// sends one to its own host, and to where that one redirects it: repositories are renamed.
func (g *Git) credentials(ctx context.Context, remote string) (*os.File, error) {
	scheme, _, _ := strings.Cut(strings.ToLower(remote), "://")
	if g.opt.Tokens == nil || scheme != "https" && scheme != "http" {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	tokens, err := g.opt.Tokens(ctx, remote)
	if err != nil {
		return nil, fmt.Errorf("%w: the token: %w", work.ErrRemote, err)
	}
	if len(tokens) == 0 {
		return nil, nil //nolint:nilnil // as above
	}
	fd, err := unix.MemfdCreate("git", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("a file for the remote's token: %w", err)
	}
	f := os.NewFile(uintptr(fd), "token")
	for prefix, token := range tokens {
		basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
		if _, err := fmt.Fprintf(f, "[http %s]\n\textraHeader = Authorization: Basic %s\n", quoteSetting(prefix), basic); err != nil {
			_ = f.Close() // it is of no use
			return nil, fmt.Errorf("a file for the remote's token: %w", err)
		}
	}
	return f, nil
}
