package memwork

import (
	"io/fs"
	"strings"
	"testing/fstest"
)

// PutOnMain puts a file on the main of a repository, for checkouts that are opened from now on.
func (p *Place) PutOnMain(repo, name, body string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onMain[repo+" "+name] = body
}

// mainFiles are the files of main.
func (p *Place) mainFiles(repo string) map[string]string {
	files := map[string]string{"README.md": "read me\n", ".github/workflows/ci.yml": "on: push\n"}
	for name, body := range p.onMain {
		if name, of := strings.CutPrefix(name, repo+" "); of {
			files[name] = body
		}
	}
	return files
}

func treeOf(files map[string]string) fs.FS {
	tree := fstest.MapFS{}
	for name, body := range files {
		tree[name] = &fstest.MapFile{Data: []byte(body)}
	}
	return tree
}
