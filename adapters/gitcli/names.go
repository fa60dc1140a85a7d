package gitcli

import (
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// checkBranch applies the rules of git-check-ref-format(1) for branches, and
// refuses what could be read as an option or an expression.
func checkBranch(name string) error {
	bad := fmt.Errorf("%w: branch %q", work.ErrBadName, name)
	if name == "" || len(name) > 240 || name == "HEAD" || name[0] == '-' || name[0] == '+' || strings.HasPrefix(name, "refs/") {
		return bad
	}
	if strings.Contains(name, "..") || strings.Contains(name, "@{") || name == "@" || strings.HasSuffix(name, ".") {
		return bad
	}
	for _, r := range name {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) {
			return bad
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return bad
		}
	}
	return nil
}

// plain reports whether a name can be one directory without surprises.
func plain(name string) bool {
	if name == "" || len(name) > 120 || name[0] == '.' || name[0] == '-' {
		return false
	}
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-') {
			return false
		}
	}
	return true
}

// commitID reports whether a text is a full object name.
func commitID(sha string) bool {
	return len(sha) == 40 && strings.Trim(sha, "0123456789abcdef") == ""
}
