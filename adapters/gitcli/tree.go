package gitcli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// fileMax bounds the files that are read from a commit, in bytes.
const fileMax = 8 << 20

// Files implements work.Mirror. Every file is read when it is opened.
// Symbolic links are files that hold their target; they are not followed.
func (g *Git) Files(ctx context.Context, s work.Workspace, sha string) (fs.FS, error) {
	p, err := g.locate(s)
	if err := errors.Join(err, checkIDs(sha)); err != nil {
		return nil, err
	}
	if err := g.reach(ctx, p, sha); err != nil {
		return nil, err
	}
	if _, err := g.git(ctx, p.mirror, "cat-file", "-e", sha+"^{tree}"); err != nil {
		return nil, err
	}
	return &tree{g: g, ctx: context.WithoutCancel(ctx), mirror: p.mirror, sha: sha}, nil
}

// tree is a commit as a file system. It carries the context of the call that
// made it because fs.FS has no place for one.
type tree struct {
	g           *Git
	ctx         context.Context
	mirror, sha string
}

// object reads what a name stands for: its kind ("blob" or "tree"), and the content of a
// file.
func (t *tree) object(op, name string) (kind string, body []byte, err error) {
	fail := func(err error) (string, []byte, error) { return "", nil, &fs.PathError{Op: op, Path: name, Err: err} }
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\n\x00") {
		return fail(fs.ErrInvalid)
	}
	ask := t.sha + ":" + name
	if name == "." {
		ask = t.sha + ":"
	}
	var out strings.Builder
	read := call{repo: t.mirror, stdin: ask + "\n", args: []string{"cat-file", "--batch"}, out: &out, most: fileMax + 100}
	_, failed := t.g.run(t.ctx, read)
	head, content, _ := strings.Cut(out.String(), "\n")
	fields := strings.Fields(head)
	if len(fields) < 3 || fields[len(fields)-1] == "missing" {
		return fail(cmp.Or(failed, fs.ErrNotExist))
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	switch {
	case err != nil || !commitID(fields[0]):
		return fail(fmt.Errorf("git answered %q", head))
	case fields[1] != "blob":
		return fields[1], nil, nil
	case size > fileMax:
		return fail(fmt.Errorf("the file has %d bytes, and files of at most %d are read", size, fileMax))
	case failed != nil:
		return fail(failed)
	}
	return "blob", []byte(content[:size]), nil
}

func (t *tree) Open(name string) (fs.File, error) {
	kind, body, err := t.object("open", name)
	if err != nil {
		return nil, err
	}
	if kind == "tree" {
		entries, err := t.ReadDir(name)
		return &openDir{info: info{name: path.Base(name), dir: true}, entries: entries}, err
	}
	return &openFile{info: info{name: path.Base(name), size: int64(len(body))}, Reader: bytes.NewReader(body)}, nil
}

func (t *tree) ReadFile(name string) ([]byte, error) {
	kind, body, err := t.object("read", name)
	if err == nil && kind != "blob" {
		err = &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	return body, err
}

func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\n\x00") {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	dir := name
	if name == "." {
		dir = ""
	}
	out, err := t.g.git(t.ctx, t.mirror, "ls-tree", "-z", "--long", t.sha+":"+dir)
	if exitCode(err) == 128 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	var entries []fs.DirEntry
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		meta, base, ok := strings.Cut(line, "\t")
		fields := strings.Fields(meta)
		if !ok || len(fields) != 4 {
			continue
		}
		size, _ := strconv.ParseInt(fields[3], 10, 64) // "-" for a directory
		entries = append(entries, fs.FileInfoToDirEntry(info{name: base, dir: fields[1] == "tree", size: size}))
	}
	return entries, nil
}

// info describes a file of a commit. Commits have no modification times.
type info struct {
	name string
	dir  bool
	size int64
}

func (i info) Name() string { return i.name }
func (i info) Size() int64  { return i.size }
func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.dir }
func (i info) Sys() any           { return nil }

type openFile struct {
	info info
	*bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	info    info
	entries []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }
func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: fs.ErrInvalid}
}

func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(d.entries)
	} else if len(d.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.entries))
	out := d.entries[:n]
	d.entries = d.entries[n:]
	return out, nil
}

// Add implements work.Mirror.
func (g *Git) Add(ctx context.Context, s work.Workspace, files []work.File, message string) (work.Tip, error) {
	return g.grow(ctx, s, func(p checkout, before string) (string, error) {
		tip, err := g.commitFiles(ctx, p, before, files, message)
		if err != nil {
			return "", err
		}
		trees, err := g.git(ctx, p.mirror, "rev-parse", tip+"^{tree}", before+"^{tree}")
		if both := strings.Fields(trees); err != nil || both[0] == both[1] {
			return "", err // it has them
		}
		return tip, nil
	})
}

// tempIndex names an index that is removed when it is dropped.
func (g *Git) tempIndex() (index string, drop func(), err error) {
	temp, err := os.MkdirTemp(g.opt.Root, "index-")
	return filepath.Join(temp, "index"), func() { _ = os.RemoveAll(temp) }, err // what is left of it harms nobody
}

// commitFiles makes a commit of the mirror that has files on top of base's.
func (g *Git) commitFiles(ctx context.Context, p checkout, base string, files []work.File, message string) (string, error) {
	index, drop, err := g.tempIndex()
	if err != nil {
		return "", err
	}
	defer drop()
	env := []string{"GIT_INDEX_FILE=" + index}
	if _, err := g.run(ctx, call{repo: p.mirror, env: env, args: []string{"read-tree", base}}); err != nil {
		return "", err
	}
	for _, f := range files {
		if err := g.stage(ctx, p, env, f); err != nil {
			return "", err
		}
	}
	out, err := g.run(ctx, call{repo: p.mirror, env: env, args: []string{"write-tree"}})
	if err != nil {
		return "", err
	}
	commit := []string{"commit-tree", strings.TrimSpace(out), "-p", base, "-F", "-"}
	out, err = g.run(ctx, call{repo: p.mirror, stdin: message + "\n", args: commit})
	return strings.TrimSpace(out), err
}

// noAttributes has git read no attributes of the repository's: they can hide a change. It is the tree
// without files; versions before 2.43 read none in a bare repository.
const noAttributes = "attr.tree=4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// headerOf begins what a diff has of a file.
const headerOf = "\ndiff --git "

// Diff implements work.Mirror. Renames are two changes.
func (g *Git) Diff(ctx context.Context, s work.Workspace, from, to string) (d work.Diff, err error) {
	p, err := g.locate(s)
	if err != nil {
		return d, err
	}
	if d.Base, err = g.since(ctx, p, from, to); err != nil {
		return d, err
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	at := map[string]int{}
	err = g.changed(ctx, p, d.Base, to, func(name string) {
		if d.Cut = len(d.Files) == work.ChangedMax; !d.Cut {
			at[name] = len(d.Files)
			d.Files = append(d.Files, work.FileDiff{Path: name})
		}
	})
	if err != nil || len(d.Files) == 0 {
		return d, err
	}
	var out strings.Builder
	_, err = g.run(ctx, call{repo: p.mirror, env: []string{g.allocLimit()}, out: &out, most: work.DiffMax, args: []string{
		"-c", noAttributes, "diff-tree", "-r", "-p", "--no-renames", "--ignore-submodules=none",
		"--no-ext-diff", "--no-textconv", "--no-color", d.Base, to,
	}})
	text := out.String()
	if len(text) == work.DiffMax { // git was ended there
		text, d.Cut, err = text[:strings.LastIndexByte(text, '\n')+1], true, nil
	}
	here := 0
	for _, section := range strings.Split("\n"+text, headerOf)[1:] {
		header, _, _ := strings.Cut(section, "\n")
		if n, known := at[named(header)]; known {
			here = n
		}
		d.Files[here].Text += strings.TrimSuffix(headerOf[1:]+section, "\n") + "\n"
	}
	return d, err
}

// named is the path in the header of a file: a/path b/path, each in quotes where it has to be.
func named(header string) string {
	half := header[:len(header)/2]
	if plain, err := strconv.Unquote(half); err == nil {
		half = plain
	}
	return strings.TrimPrefix(half, "a/")
}
