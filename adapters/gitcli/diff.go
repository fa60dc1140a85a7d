package gitcli

import (
	"context"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// noAttributes has git read no attributes of the repository's: they can hide a change. It is the tree
// without files; versions before 2.43 read none in a bare repository.
const noAttributes = "attr.tree=4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// headerOf begins what a diff has of a file.
const headerOf = "\ndiff --git "

// Diff implements work.Mirror. Renames are two changes.
func (g *Git) Diff(ctx context.Context, s work.Workspace, sha string) (d work.Diff, err error) {
	p, err := g.locate(s)
	if err != nil {
		return d, err
	}
	if d.Base, err = g.since(ctx, p, "", sha); err != nil {
		return d, err
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	at := map[string]int{}
	err = g.changed(ctx, p, d.Base, sha, func(name string) {
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
		"--no-ext-diff", "--no-textconv", "--no-color", d.Base, sha,
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
