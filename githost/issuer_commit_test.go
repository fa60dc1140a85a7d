package githost_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
)

func TestStatusCommit(t *testing.T) {
	const sha = "5f1e7c0a9b5f1e7c0a9b5f1e7c0a9b5f1e7c0a9b"
	require.Equal(t, sha, githost.StatusCommit("https://git.example.org/api/v1/repos/acme/app/statuses/"+sha))
	for _, none := range []string{"", sha, "https://git.example.org/statuses/main", "https://git.example.org/statuses/" + sha + "/../x"} {
		require.Empty(t, githost.StatusCommit(none), none)
	}
}
