package restclient

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/signalbox-dev/signalbox/githost"
)

var (
	namePart = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	commitID = regexp.MustCompile(`^[0-9a-fA-F]{7,64}$`)
	keyForm  = regexp.MustCompile(`^[A-Za-z0-9._/-]+$`)
)

// IsName reports whether a word may be a part of a path: the name of an account, or of a repository.
func IsName(word string) bool { return namePart.MatchString(word) && strings.Trim(word, ".") != "" }

// SplitRepo divides owner/name. Nothing else reaches a path.
func SplitRepo(service, repo string) (owner, name string, err error) {
	owner, name, _ = strings.Cut(repo, "/")
	if !IsName(owner) || !IsName(name) {
		err = fmt.Errorf("%s: repository %q, want owner/name: %w", service, repo, githost.ErrNotFound)
	}
	return owner, name, err
}

// SplitRepoAt is SplitRepo for a call that names a commit too.
func SplitRepoAt(service, repo, sha string) (owner, name string, err error) {
	if !commitID.MatchString(sha) {
		return "", "", fmt.Errorf("%s: commit %q, want a hexadecimal id: %w", service, sha, githost.ErrNotFound)
	}
	return SplitRepo(service, repo)
}

// IsAbsent reports that a repository has answered that it has no such thing: it is the one that is not found else.
func IsAbsent(err error) bool {
	return errors.Is(err, githost.ErrNotFound) && !errors.As(err, new(*Error))
}

// MarkComment is the body of a comment of ours, which begins with a mark: a comment has no identity of its own on a host, and the mark
// is not shown.
func MarkComment(service string, n githost.NewComment) (mark, body string, err error) {
	if !keyForm.MatchString(n.Key) {
		return "", "", fmt.Errorf("%s: a comment's key is %q, want letters, digits and ./_-", service, n.Key)
	}
	mark = "<!-- signalbox " + strings.ReplaceAll(n.Key, "--", "- -") + " -->"
	return mark, strings.ToValidUTF8(mark+"\n"+n.Body[:min(len(n.Body), githost.CommentMax)], ""), nil
}
