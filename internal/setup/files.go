package setup

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/app"
)

// envFile is the file of settings: what it has, and what is to be added.
type envFile struct {
	before string // its content; empty: there is none
	have   map[string]bool
	lines  strings.Builder
	added  []string
}

// readEnv reads the file and what of it the environment has already.
func readEnv() (e envFile, err error) {
	e.have = map[string]bool{}
	pairs, err := app.ReadEnvFile(app.EnvFile)
	if err != nil {
		return e, err
	}
	for _, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		e.have[name] = true
	}
	body, err := os.ReadFile(app.EnvFile)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	e.before = string(body)
	return e, err
}

// has reports whether a setting is set, in the file or around it.
func (e *envFile) has(name string) bool {
	_, set, _ := app.Given(os.Environ(), name) // an error of the settings file has ended read
	_, filed := os.LookupEnv(name + "_FILE")
	return e.have[name] || set || filed
}

// valueOf is the value of a setting that is set; empty when it is not.
func valueOf(name string) string {
	value, _, _ := app.Given(os.Environ(), name)
	return value
}

// add notes a setting to write, unless it is empty or set already. One of the environment is
// written as it is there: the next shell has none.
func (e *envFile) add(name, value, why string) {
	if given := os.Getenv(name); given != "" && !e.have[name] && !strings.Contains(given, "\n") {
		value = given
	} else if value == "" || e.has(name) {
		return
	}
	e.have[name] = true
	e.added = append(e.added, name)
	fmt.Fprintf(&e.lines, "# %s\n%s=%s\n", why, name, value)
}

// generate notes a secret of 256 bits, unless there is one.
func (e *envFile) generate(name, why string) {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	e.add(name, hex.EncodeToString(secret), why)
}

// placeOf is where a setting stands.
func (e *envFile) placeOf(name string) string {
	for _, one := range app.List(os.Environ()) {
		if one.Name == name && one.Origin != "environment" {
			return one.Origin
		}
	}
	number := 0
	for line := range strings.Lines(e.before) {
		number++
		if _, is := strings.CutPrefix(strings.TrimSpace(line), name+"="); is {
			return fmt.Sprintf("%s:%d", app.EnvFile, number)
		}
	}
	return "the environment"
}

// write completes the file, for its owner's eyes only.
func (e *envFile) write(say func(string, ...any)) error {
	if len(e.added) == 0 {
		say("%s: complete, nothing was changed", app.EnvFile)
		return nil
	}
	body := e.before
	if body != "" && !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	if err := replace(app.EnvFile, e.before, body+e.lines.String()); err != nil {
		return err
	}
	say("%s: added %s", app.EnvFile, strings.Join(e.added, ", "))
	return nil
}

// replace writes a file as a whole, with the mode that it has, or 0600; where a link is, what that leads to. before is what
// it was made from: empty for a file that is not there. A file that somebody has changed meanwhile stays.
func replace(name, before, body string) (err error) {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	if to, err := filepath.EvalSymlinks(name); err == nil {
		name = to
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(body)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if before == "" {
		return os.Link(f.Name(), name) // fails when it is there
	}
	if now, err := os.ReadFile(name); err != nil || string(now) != before {
		return fmt.Errorf("%s has changed meanwhile: run it again", name)
	}
	return os.Rename(f.Name(), name)
}
