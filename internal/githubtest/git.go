package githubtest

import (
	"errors"
	"net/http"

	"github.com/signalbox-dev/signalbox/internal/fakehost"
)

// Remote serves the bare repositories below a folder for git to fetch from and push to,
// by the program of git that does so.
func Remote(root string) (http.Handler, error) { return fakehost.Remote(root) }

var errNotMergeable = errors.New("pull request is not mergeable")

// merge makes a commit on the base branch, of two parents when the method is merge, and of one
// else; the lock is held. An empty value of wanted means any head.
func (s *Server) merge(p *Pull, title, wanted, method string) (string, error) {
	r := s.repo(p.Repo)
	heads := r.Heads()
	head, base := heads[p.Head], heads[p.Base]
	switch {
	case !p.Open || head == "" || base == "":
		return "", errNotMergeable
	case wanted != "" && wanted != head:
		return "", fakehost.ErrMoved
	}
	tree, err := r.Tree(base, head)
	if err != nil {
		return "", err
	}
	parents := []string{base}
	if method == "merge" {
		parents = append(parents, head)
	}
	sha, err := r.Commit(p.Base, tree, title, parents...)
	if err != nil {
		return "", err
	}
	p.Open, p.Merged, p.MergeSHA, p.HeadSHA, p.MergeTime = false, true, sha, head, s.opt.Now()
	s.merges++
	if r.settings.DeleteHead {
		if err := r.Remove(p.Head); err != nil {
			return "", err
		}
	}
	s.hook("pull_request", s.wirePullEvent(p, "closed"))
	return sha, nil
}
