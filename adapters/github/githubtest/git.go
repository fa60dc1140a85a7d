package githubtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// git runs git in a bare repository.
func git(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", append([]string{"--git-dir=" + dir, "-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*"}, args...)...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=host", "GIT_AUTHOR_EMAIL=host@example.org", "GIT_COMMITTER_NAME=host", "GIT_COMMITTER_EMAIL=host@example.org",
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(errs.String()))
	}
	return out, err
}

// Errors of a merge.
var (
	errHeadMoved    = errors.New("head branch was modified")
	errNotMergeable = errors.New("pull request is not mergeable")
)

// merge makes a commit on the base branch, of two parents when the method is merge, and of one
// else; the lock is held. An empty value of wanted means any head.
func (s *Server) merge(p *Pull, title, wanted, method string) (string, error) {
	r := s.repo(p.Repo)
	heads := r.read()
	head, base := heads[p.Head], heads[p.Base]
	switch {
	case !p.Open || head == "" || base == "":
		return "", errNotMergeable
	case wanted != "" && wanted != head:
		return "", errHeadMoved
	}
	tree, err := git(r.dir, "merge-tree", "--write-tree", base, head)
	if err != nil {
		return "", errNotMergeable // a conflict
	}
	args := []string{"commit-tree", strings.TrimSpace(string(tree)), "-p", base, "-m", title}
	if method == "merge" {
		args = append(args, "-p", head)
	}
	commit, err := git(r.dir, args...)
	if err != nil {
		return "", err
	}
	sha := strings.TrimSpace(string(commit))
	if _, err := git(r.dir, "update-ref", "refs/heads/"+p.Base, sha, base); err != nil {
		return "", errHeadMoved
	}
	p.Open, p.Merged, p.MergeSHA, p.HeadSHA, p.MergeTime = false, true, sha, head, s.opt.Now()
	s.merges++
	if r.settings.DeleteHead {
		if _, err := git(r.dir, "update-ref", "-d", "refs/heads/"+p.Head); err != nil {
			return "", err
		}
	}
	s.hook("pull_request", s.wirePullEvent(p, "closed"))
	return sha, nil
}
