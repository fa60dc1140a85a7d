package gitcli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// refMax bounds the files that refs are read from, in bytes.
const refMax = 4 << 20

// heads are the commits that a task's repository stands at. Empty is what is not
// there, or not to be read.
type heads struct {
	branch, head, stash, autostash string
	on                             string // the content of HEAD
}

func (p checkout) heads() (h heads) {
	if plainDir(p.repo, ".") != nil {
		return h
	}
	repo, err := os.OpenRoot(p.repo)
	if err != nil {
		return h
	}
	defer func() { _ = repo.Close() }() // nothing was written through it
	h.branch = refIn(repo, "refs/heads/"+p.Branch)
	h.stash = refIn(repo, "refs/stash")
	h.autostash = refIn(repo, "rebase-merge/autostash")
	h.head, h.on = refIn(repo, "HEAD"), content(repo, "HEAD")
	if name, symbolic := strings.CutPrefix(h.on, "ref: "); symbolic {
		h.head = refIn(repo, name)
	}
	return h
}

// refIn reads a ref as git keeps it: in a file of its own, or in the packed ones.
func refIn(repo *os.Root, name string) string {
	if sha := content(repo, name); commitID(sha) {
		return sha
	}
	for line := range strings.Lines(content(repo, "packed-refs")) {
		if sha, ref, _ := strings.Cut(strings.TrimSpace(line), " "); ref == name && commitID(sha) {
			return sha
		}
	}
	return ""
}

// content reads a file, without the space around its text; empty for anything else than
// a file. It never waits for a pipe.
func content(root *os.Root, name string) string {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was read only
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	body, err := io.ReadAll(io.LimitReader(f, refMax))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(body))
}

// plainDir returns an error unless a name below a directory, and all on the way to
// it, are directories and no links.
func plainDir(dir, name string) error {
	at := dir
	for part := range strings.SplitSeq("./"+filepath.ToSlash(name), "/") {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if err == nil && !info.IsDir() {
			err = &os.PathError{Op: "enter", Path: at, Err: syscall.ENOTDIR}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
