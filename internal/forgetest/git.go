package forgetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Errors of a merge.
var (
	ErrMoved    = errors.New("forgetest: a branch has moved")
	ErrConflict = errors.New("forgetest: the branches conflict")
)

// Repo is a bare repository. Changes is for one caller at a time; the rest is safe for
// concurrent use.
type Repo struct {
	dir  string
	seen map[string]string // heads, by branch
}

// Open takes a bare repository as it is now.
func Open(dir string) (*Repo, error) {
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		return nil, fmt.Errorf("%s is not a bare repository: %w", dir, err)
	}
	r := &Repo{dir: dir}
	r.seen = r.Heads()
	return r, nil
}

// Git runs git in the repository.
func (r *Repo) Git(args ...string) ([]byte, error) {
	own := []string{"--git-dir=" + r.dir, "-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*"}
	cmd := exec.Command("git", append(own, args...)...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
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

// File reads a file of a commit.
func (r *Repo) File(sha, path string) ([]byte, error) {
	return r.Git("cat-file", "blob", sha+":"+path)
}

// Heads reads the heads of all branches from the repository's files.
func (r *Repo) Heads() map[string]string {
	out := map[string]string{}
	packed, err := os.ReadFile(filepath.Join(r.dir, "packed-refs"))
	if err == nil {
		for line := range strings.Lines(string(packed)) {
			if sha, ref, ok := strings.Cut(strings.TrimSpace(line), " refs/heads/"); ok && len(sha) == 40 {
				out[ref] = sha
			}
		}
	}
	root := filepath.Join(r.dir, "refs", "heads")
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error { // a directory that vanishes has no heads
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return nil
		}
		name, rel := filepath.Rel(root, path)
		body, read := os.ReadFile(path)
		if rel == nil && read == nil && len(strings.TrimSpace(string(body))) == 40 {
			out[filepath.ToSlash(name)] = strings.TrimSpace(string(body))
		}
		return nil
	})
	return out
}

// Has reports whether a branch exists. Heads may miss one while git packs it; git does not.
func (r *Repo) Has(branch string) bool {
	_, err := r.Git("rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	return err == nil
}

// First is the branch that is shown at first.
func (r *Repo) First() string {
	body, _ := os.ReadFile(filepath.Join(r.dir, "HEAD")) // Open has seen it
	return strings.TrimPrefix(strings.TrimSpace(string(body)), "ref: refs/heads/")
}

// headChange is a branch that was pushed to, or was removed.
type headChange struct{ Branch, Before, After string } // empty = there was, or is, none

// Changes lists what has changed since the last look.
func (r *Repo) Changes() (out []headChange) {
	heads := r.Heads()
	for branch, sha := range heads {
		if before := r.seen[branch]; before != sha {
			out = append(out, headChange{branch, before, sha})
		}
	}
	for branch, before := range r.seen {
		if heads[branch] == "" {
			out = append(out, headChange{Branch: branch, Before: before})
		}
	}
	r.seen = heads
	return out
}

// Remove deletes a branch.
func (r *Repo) Remove(branch string) error {
	_, err := r.Git("update-ref", "-d", "refs/heads/"+branch)
	return err
}

// Tree is the tree of two commits merged, or ErrConflict.
func (r *Repo) Tree(base, head string) (string, error) {
	tree, err := r.Git("merge-tree", "--write-tree", base, head)
	if err != nil {
		return "", ErrConflict
	}
	return strings.TrimSpace(string(tree)), nil
}

// MergeBase is the newest commit that two have in common; empty when there is none.
func (r *Repo) MergeBase(a, b string) string {
	out, _ := r.Git("merge-base", a, b)
	return strings.TrimSpace(string(out))
}

// Commit moves a branch on by a commit with a tree; ErrMoved when it is not at the first parent.
func (r *Repo) Commit(branch, tree, message string, parents ...string) (string, error) {
	args := []string{"commit-tree", tree, "-m", message}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	commit, err := r.Git(args...)
	if err != nil {
		return "", err
	}
	sha := strings.TrimSpace(string(commit))
	return sha, r.Move(branch, parents[0], sha)
}

// Move moves a branch from one commit to another; ErrMoved when it is not at the first.
func (r *Repo) Move(branch, from, to string) error {
	if _, err := r.Git("update-ref", "refs/heads/"+branch, to, from); err != nil {
		return ErrMoved
	}
	return nil
}

// Remote serves the bare repositories below a folder for git to fetch from and push to,
// by the program of git that does so.
func Remote(root string) (http.Handler, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, err
	}
	return &cgi.Handler{
		Path: program, Args: []string{"http-backend"}, Dir: root, Stderr: io.Discard,
		Env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=2",
			"GIT_CONFIG_KEY_0=http.receivepack", "GIT_CONFIG_VALUE_0=true",
			"GIT_CONFIG_KEY_1=safe.directory", "GIT_CONFIG_VALUE_1=*",
		},
	}, nil
}
