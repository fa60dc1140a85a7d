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

// merge makes a merge commit on the base branch; the lock is held. An empty
// value of wanted means any head.
func (s *Server) merge(p *Pull, title, wanted string) (string, error) {
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
	sha, err := r.Commit(p.Base, tree, title, base, head)
	if err != nil {
		return "", err
	}
	p.Open, p.Merged, p.MergeSHA, p.HeadSHA, p.MergeTime = false, true, sha, head, s.opt.Now()
	s.merges++
	s.hook("pull_request", s.wirePullEvent(p, "closed"))
	return sha, nil
}
