package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/app"
)

// local is the repository of the working directory.
type local struct {
	root   string // its top; empty: there is none
	branch string // that is checked out
}

// findLocal looks at the working directory.
func findLocal(ctx context.Context) (l local, err error) {
	if _, err := exec.LookPath("git"); err != nil {
		return l, errors.New("git is not installed: the service needs it")
	}
	if l.root, err = git(ctx, ".", "rev-parse", "--show-toplevel"); err != nil {
		return local{}, nil //nolint:nilerr // it is no repository, which may be as it should
	}
	if _, err := git(ctx, l.root, "rev-parse", "--quiet", "--verify", "HEAD"); err != nil {
		return l, fmt.Errorf("the repository %s has no commit: make a first one", l.root)
	}
	if l.branch, err = git(ctx, l.root, "symbolic-ref", "--quiet", "--short", "HEAD"); err != nil {
		return l, fmt.Errorf("the repository %s has no branch checked out: git switch main", l.root)
	}
	if _, err := git(ctx, ".", "ls-files", "--error-unmatch", "--", app.EnvFile); err == nil {
		return l, fmt.Errorf("%s is under version control, and so would be the secrets in it: git rm --cached %s, and replace them",
			app.EnvFile, app.EnvFile)
	}
	return l, nil
}

// origin is the address that the repository was cloned from; empty where there is none.
func (l local) origin(ctx context.Context) string {
	if l.root == "" {
		return ""
	}
	origin, _ := git(ctx, l.root, "config", "--get", "remote.origin.url") // it fails where there is none
	return origin
}

// testedBy is the command that tests the repository, by the files that such a command needs; empty: none is known.
func (l local) testedBy() string {
	for _, c := range []struct{ file, has, command string }{
		{"Makefile", "\ntest:", "make test"}, {"go.mod", "", "go test ./..."}, {"package.json", `"test":`, "npm test"},
		{"Cargo.toml", "", "cargo test"}, {"pyproject.toml", "pytest", "pytest"},
	} {
		body, err := os.ReadFile(filepath.Join(l.root, c.file))
		if err == nil && l.root != "" && strings.Contains("\n"+string(body), c.has) {
			return c.command
		}
	}
	return ""
}

// git runs git in a directory.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	out, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(failed.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}

// remoteName names the copy in the repository that it was made of.
const remoteName = "signalbox"

// copy makes a bare copy of the local repository, in which main can move; one that is there
// stays.
func (l local) copy(ctx context.Context, e *entry, say func(string, ...any)) error {
	at := e.CloneURL
	if _, err := os.Stat(at); err == nil {
		say("%s: kept", at)
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	if err := os.Chmod(dataDir(), 0o700); err != nil {
		return err
	}
	half := at + ".half"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	bare := []string{"clone", "--quiet", "--bare", "--no-hardlinks", "--single-branch", "--branch", e.Main, "--", l.root, half}
	if _, err := git(ctx, l.root, bare...); err != nil {
		return err
	}
	if _, err := git(ctx, half, "remote", "remove", "origin"); err != nil {
		return err
	}
	if err := os.Rename(half, at); err != nil {
		return err
	}
	if _, err := git(ctx, l.root, "remote", "add", remoteName, at); err != nil {
		say("%s: made; the remote %s of this repository is another one, and stays", at, remoteName)
		return nil
	}
	say("%s: made, where %s moves; git pull %s %s brings it here", at, e.Main, remoteName, e.Main)
	return nil
}

// look reads the main branch of a repository that was named.
func look(ctx context.Context, e *entry) error {
	out, err := git(ctx, ".", "ls-remote", "--symref", "--", e.CloneURL, "HEAD", "refs/heads/*")
	if err != nil {
		return fmt.Errorf("--clone-url: the repository cannot be read: %w", err)
	}
	for line := range strings.Lines(out) {
		if to, ok := strings.CutPrefix(strings.TrimSpace(line), "ref: refs/heads/"); ok && e.Main == "" {
			e.Main, _, _ = strings.Cut(to, "\t")
		}
	}
	if e.Main = cmp.Or(e.Main, "main"); !strings.Contains(out+"\n", "\trefs/heads/"+e.Main+"\n") {
		return fmt.Errorf("--main: %s has no branch %s: push a first commit to it, or name another", e.CloneURL, e.Main)
	}
	return nil
}

// exclude keeps what has secrets out of the repository's commits, for this clone alone.
func (l local) exclude(say func(string, ...any)) error {
	if l.root == "" {
		return nil
	}
	ctx := context.Background()
	var lines string
	for _, name := range []string{app.EnvFile, dataDir() + "/"} {
		rel, err := filepath.Rel(l.root, absolute(name))
		if _, ignored := git(ctx, ".", "check-ignore", "--quiet", "--", name); ignored == nil || err != nil || !filepath.IsLocal(rel) {
			continue
		}
		lines += "/" + filepath.ToSlash(rel) + "\n"
	}
	if lines == "" {
		return nil
	}
	name, err := git(ctx, l.root, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n" + lines) // the last line of what is there may have no end
	if err = errors.Join(err, f.Close()); err == nil {
		say(".git/info/exclude: %s", strings.Join(strings.Fields(lines), ", "))
	}
	return err
}

// nameParts matches what a name may not have.
var nameParts = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// nameOf makes owner/name of an address, or of the name of a directory.
func nameOf(cloneURL, root string) string {
	path := strings.TrimSuffix(strings.TrimRight(cloneURL, "/"), ".git")
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == ':' })
	owner, name := "local", filepath.Base(root)
	if len(parts) > 0 {
		name = parts[len(parts)-1]
	}
	if len(parts) > 2 && !filepath.IsAbs(cloneURL) {
		owner = parts[len(parts)-2]
	}
	clean := func(s string) string { return cmp.Or(strings.Trim(nameParts.ReplaceAllString(s, "-"), "-."), "app") }
	return clean(owner) + "/" + clean(name)
}

// prefixMax is how long a prefix is that is made of a name.
const prefixMax = 4

// prefixOf makes a prefix of a repository's name: its first letters, as capitals.
func prefixOf(name string) string {
	var out []rune
	for _, r := range strings.ToUpper(name) {
		if r >= 'A' && r <= 'Z' || len(out) > 0 && r >= '0' && r <= '9' {
			out = append(out, r)
		}
	}
	return cmp.Or(string(out[:min(len(out), prefixMax)]), "APP")
}

// pathOrURL makes a path absolute, and leaves an address as it is.
func pathOrURL(named string) string {
	if _, err := os.Stat(named); err == nil {
		return absolute(named)
	}
	return named
}
