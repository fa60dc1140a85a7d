package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fileMax is the most that a file of the tree may have, in bytes: what is larger is a program or data that somebody built.
const fileMax = 1 << 20

// Nothing that a build leaves behind is in the tree.
func TestNoFileIsLarge(t *testing.T) {
	const root = "../.."
	list, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skip("not a checkout of git")
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join(root, name)); err == nil {
			require.LessOrEqual(t, info.Size(), int64(fileMax), name)
		}
	}
}
