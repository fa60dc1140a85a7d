package gitcli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
)

// errNotSwept means that a checkout is to be made from nothing.
var errNotSwept = errors.New("there is no whole one, or its attributes change")

// sweep removes from the checkout of the attempt before all that it was not made with: files that git ignores, empty
// directories, whatever is called .git, which git itself looks past, and each file whose inode has changed since git
// wrote the index of them, which no agent writes. No program can set the time of that: what was written to, linked
// or given other rights has a newer one, and what has taken another's place another inode, which git compares when it
// brings the rest up to date. An error means that nothing of the checkout is to be used.
func (g *Git) sweep(ctx context.Context, p checkout, before, m mark) error {
	if !before.Whole || plainDir(p.dir, ".") != nil || g.attributesChange(ctx, p, before, m) {
		return errNotSwept
	}
	files, dirs := map[string]bool{}, map[string]bool{".": true}
	in := inCheckout(p, p.index, "ls-files", "-z")
	in.most, in.out = math.MaxInt, &pieces{end: 0, each: func(name string) error {
		files[name] = true
		for i := strings.LastIndexByte(name, '/'); i > 0 && !dirs[name[:i]]; i = strings.LastIndexByte(name[:i], '/') {
			dirs[name[:i]] = true
		}
		return nil
	}}
	if _, err := g.run(ctx, in); err != nil {
		return err
	}
	if len(files) == 0 {
		return errNotSwept
	}
	made, err := os.Stat(p.index)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && dirs[name] || !d.IsDir() && files[name] {
			info, err := d.Info()
			switch {
			case err != nil, d.IsDir() && (info.Mode()&^0o755 != fs.ModeDir || info.Mode()&0o700 != 0o700):
				return errors.Join(errNotSwept, err)
			case d.IsDir(), !inodeChanged(info).After(made.ModTime()):
				return ctx.Err()
			}
		}
		if err := root.RemoveAll(name); err != nil || !d.IsDir() {
			return err
		}
		return fs.SkipDir
	})
}

// attributesChange reports whether files may have to be written otherwise though their content is the same.
func (g *Git) attributesChange(ctx context.Context, p checkout, before, m mark) bool {
	if !slices.Equal(before.FromMain, m.FromMain) {
		return true
	}
	pairs := [][2]string{{before.Start, m.Start}}
	if len(m.FromMain) > 0 {
		pairs = append(pairs, [2]string{before.main(), m.main()})
	}
	for _, pair := range pairs {
		out, err := g.git(ctx, p.mirror, "diff-tree", "-r", "--name-only", pair[0], pair[1], "--", ":(glob)**/.gitattributes")
		if err != nil || out != "" {
			return true
		}
	}
	return false
}

// copyIndex copies an index with the time of its own: by that git judges which files may have changed unseen.
func copyIndex(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was read only
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}
