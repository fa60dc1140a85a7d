package gitcli_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shown lists what lies in a checkout: kinds, rights, links and content by path.
func shown(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		what := info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(name)
			require.NoError(t, err)
			what += to
		case info.Mode().IsRegular():
			body, err := os.ReadFile(name)
			require.NoError(t, err)
			what += string(body)
		}
		rel, err := filepath.Rel(dir, name)
		if rel != ".git" { // it names the place
			out[rel] = what
		}
		return err
	}))
	return out
}

// inode returns the number of a file's inode and when that was changed: a number is given again.
func inode(t testing.TB, name string) string {
	t.Helper()
	info, err := os.Stat(name)
	require.NoError(t, err)
	at := info.Sys().(*syscall.Stat_t)
	return fmt.Sprint(at.Ino, at.Ctim)
}

// Whatever an attempt leaves in its checkout, the next one finds what it would in a new one, and what nobody has touched
// is not written again.
func TestSweep(t *testing.T) {
	long := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, leave := range map[string]func(k *kit, dir string){
		"nothing": func(*kit, string) {},
		"a repository in a directory": func(k *kit, dir string) {
			write(k, dir, "src/.git/config", "[core]\n\tfsmonitor = touch /tmp/owned\n")
		},
		"a link to a repository": func(k *kit, dir string) {
			require.NoError(k, os.Symlink(k.Name(), filepath.Join(dir, "src", ".git")))
		},
		"another .git": func(k *kit, dir string) {
			require.NoError(k, os.Remove(filepath.Join(dir, ".git")))
			require.NoError(k, os.Symlink(filepath.Join(k.bare, "config"), filepath.Join(dir, ".git")))
		},
		"what git ignores": func(k *kit, dir string) {
			write(k, dir, ".gitignore", "*\n")
			write(k, dir, "build/out", "x")
			require.NoError(k, os.MkdirAll(filepath.Join(dir, "src", "empty"), 0o755))
		},
		"content of the same size and time": func(k *kit, dir string) {
			file := filepath.Join(dir, "src/a.go")
			info, err := os.Stat(file)
			require.NoError(k, err)
			write(k, dir, "src/a.go", "B\n")
			require.NoError(k, os.Chtimes(file, info.ModTime(), info.ModTime()))
		},
		"rights": func(k *kit, dir string) { require.NoError(k, os.Chmod(filepath.Join(dir, "src/a.go"), 0o666)) },
		"set id": func(k *kit, dir string) {
			require.NoError(k, os.Chmod(filepath.Join(dir, "src/a.go"), 0o755|fs.ModeSetuid))
		},
		"rights of all": func(k *kit, dir string) { require.NoError(k, os.Chmod(filepath.Join(dir, "src"), 0o777)) },
		"no rights":     func(k *kit, dir string) { require.NoError(k, os.Chmod(filepath.Join(dir, "src"), 0)) },
		"a link for a directory": func(k *kit, dir string) {
			outer := k.TempDir()
			write(k, outer, "a.go", "of others\n")
			require.NoError(k, os.Rename(filepath.Join(dir, "src"), filepath.Join(outer, "src")))
			require.NoError(k, os.Symlink(outer, filepath.Join(dir, "src")))
		},
		"a directory for a file": func(k *kit, dir string) {
			require.NoError(k, os.Remove(filepath.Join(dir, "src/a.go")))
			write(k, dir, "src/a.go/b", "x")
		},
		"a file for a directory": func(k *kit, dir string) {
			require.NoError(k, os.RemoveAll(filepath.Join(dir, "src")))
			write(k, dir, "src", "x")
		},
		"a pipe": func(k *kit, dir string) {
			require.NoError(k, os.Remove(filepath.Join(dir, "src/a.go")))
			require.NoError(k, syscall.Mkfifo(filepath.Join(dir, "src/a.go"), 0o600))
		},
		"attributes": func(k *kit, dir string) {
			write(k, dir, "src/.gitattributes", "* text eol=crlf\n")
			require.NoError(k, os.Chtimes(filepath.Join(dir, "src/a.go"), long, long))
		},
		"committed attributes": func(k *kit, dir string) { commit(k, dir, ".gitattributes", "* text eol=crlf\n") },
		"its own index": func(k *kit, dir string) {
			write(k, dir, "src/a.go", "B\n")
			run(k, dir, "add", "--all")
			run(k, dir, "update-index", "--assume-unchanged", "src/a.go")
		},
		"a second name": func(k *kit, dir string) {
			require.NoError(k, os.MkdirAll(filepath.Join(k.root, "elsewhere"), 0o755))
			require.NoError(k, os.Link(filepath.Join(dir, "src/a.go"), filepath.Join(k.root, "elsewhere", "a.go")))
		},
		"commits": func(k *kit, dir string) { commit(k, dir, "src/new/c.go", "c\n") },
		"a damaged index": func(k *kit, _ string) {
			require.NoError(k, os.WriteFile(filepath.Join(k.root, "repos", "acme--app", "APP-1.index"), []byte("DIRC"), 0o600))
		},
		"a lock": func(k *kit, _ string) {
			require.NoError(k, os.WriteFile(filepath.Join(k.root, "repos", "acme--app", "APP-1.index.lock"), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := setup(t)
			seed := filepath.Join(t.TempDir(), "seed")
			run(t, t.TempDir(), "clone", "--quiet", k.bare, seed)
			commit(t, seed, "src/a.go", "A\n")
			run(t, seed, "push", "--quiet", "origin", "HEAD:main")
			dir := k.open()
			kept := inode(t, filepath.Join(dir, "README.md"))
			leave(k, dir)
			k.take()
			dir = k.open()
			got, same := shown(t, dir), kept == inode(t, filepath.Join(dir, "README.md"))
			own, err := os.Stat(filepath.Join(dir, "src/a.go"))
			require.NoError(t, err)
			require.EqualValues(t, 1, own.Sys().(*syscall.Stat_t).Nlink, "another may write to it")
			require.Empty(t, run(t, dir, "status", "--porcelain", "--ignored"))
			require.NoError(t, os.RemoveAll(filepath.Join(k.root, "work")))
			require.Equal(t, shown(t, k.open()), got)
			anew := slices.Contains([]string{"rights of all", "no rights", "committed attributes", "a damaged index"}, name)
			require.Equal(t, !anew, same, "what is the same stays")
		})
	}
}
