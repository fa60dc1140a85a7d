package gitcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// readLimit bounds how long git reads what an agent has written: it holds up the
// agent's own task only.
const readLimit = 30 * time.Second

// quarantined begins the names of the directories that agents' objects are looked at in.
const quarantined = "take-"

// fetchOwn brings a commit of the task's repository into the mirror: its objects
// alone, so that the mirror's lock is not needed. They are copied into a repository
// made for that, measured there, and fetched from it, checked by git one by one; no git
// runs where the agent writes. From is a commit that the mirror has, to compare with.
func (g *Git) fetchOwn(ctx context.Context, p checkout, from, sha string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	if err := plainDir(p.repo, "objects"); err != nil {
		return err
	}
	repo, err := os.MkdirTemp(g.opt.Root, quarantined)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.remove(repo)) }()
	objects := filepath.Join(repo, "objects")
	if err := os.Mkdir(objects, 0o700); err != nil {
		return err
	}
	if err := g.copyObjects(ctx, filepath.Join(p.repo, "objects"), objects); err != nil {
		return err
	}
	if err := g.measure(ctx, p, objects, from, sha); err != nil {
		return err
	}
	err = writeAll(map[string]string{
		filepath.Join(repo, "HEAD"):                  "ref: refs/heads/own\n",
		filepath.Join(repo, "refs", "heads", "own"):  sha + "\n",
		filepath.Join(repo, "config"):                "[core]\n\tbare = true\n\tcommitGraph = false\n",
		filepath.Join(objects, "info", "alternates"): filepath.Join(p.mirror, "objects") + "\n",
	})
	if err != nil {
		return err
	}
	_, err = g.run(ctx, call{repo: p.mirror, env: []string{g.allocLimit()}, args: []string{
		"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", repo, "refs/heads/own",
	}})
	return err
}

// allocLimit bounds what git takes of memory for one thing: what an agent has stored may
// say that it is of any size.
func (g *Git) allocLimit() string {
	return fmt.Sprintf("GIT_ALLOC_LIMIT=%d", 128<<20+2*g.opt.Limits.File)
}

// copyObjects copies loose objects and packs, and nothing else: no link is followed out,
// no pipe waited for, and no other repository's objects come with them.
func (g *Git) copyObjects(ctx context.Context, from, to string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	room, files := g.opt.Limits.Bytes, g.opt.Limits.Objects
	copyAll := func(dir string, wanted func(string) bool) error {
		return eachName(root, dir, func(name string) error {
			if !wanted(name) {
				return nil
			}
			if files--; files < 0 {
				return tooMuch("it has more than %d objects", g.opt.Limits.Objects)
			}
			n, err := copyFile(root, dir+"/"+name, filepath.Join(to, dir, name), room+1)
			if room -= n; room < 0 {
				return tooMuch("its objects have more than %d bytes", g.opt.Limits.Bytes)
			}
			return errors.Join(err, ctx.Err())
		})
	}
	if err := copyAll("pack", func(name string) bool {
		return strings.HasPrefix(name, "pack-") && (strings.HasSuffix(name, ".pack") || strings.HasSuffix(name, ".idx"))
	}); err != nil {
		return err
	}
	for n := range 256 {
		if err := copyAll(fmt.Sprintf("%02x", n), func(name string) bool { return commitID("00" + name) }); err != nil {
			return err
		}
	}
	return nil
}

// eachName calls a function with the names in a directory; none when it is not there.
func eachName(root *os.Root, dir string, each func(string) error) error {
	f, err := root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was read only
	for {
		names, err := f.Readdirnames(1000)
		for _, name := range names {
			if err := each(name); err != nil {
				return err
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// copyFile copies a file, up to a number of bytes. What is none is passed over.
func copyFile(root *os.Root, name, to string, most int64) (n int64, err error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // it was read only
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return 0, err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(out, io.LimitReader(f, most))
	return n, errors.Join(err, out.Close())
}
