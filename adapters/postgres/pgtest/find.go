package pgtest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// missing is what to do on a machine without PostgreSQL. why says what kept us
// from fetching one.
func missing(why error) error {
	return fmt.Errorf("pgtest: no PostgreSQL is installed, and none was fetched: %w\ninstall it (Debian: apt-get install -y postgresql; macOS: brew install postgresql), "+
		"or npm, which fetches it, or name its programs' directory in PGTEST_BINDIR, or a server in TEST_DATABASE_URL", why)
}

// errOff is the reason of a machine with fetching switched off.
var errOff = errors.New("PGTEST_DOWNLOAD is off")

// binaries finds the directory of initdb and postgres.
func binaries() (string, error) {
	if dir := os.Getenv("PGTEST_BINDIR"); dir != "" {
		if !complete(dir) {
			return "", errors.New("pgtest: PGTEST_BINDIR: no initdb and postgres in " + dir)
		}
		return dir, nil
	}
	download := os.Getenv("PGTEST_DOWNLOAD")
	if dir, ok := present(); ok && download != "always" {
		return dir, nil
	}
	if download == "off" {
		return "", missing(errOff)
	}
	dir, err := fetched()
	if err != nil {
		return "", missing(err)
	}
	return dir, nil
}

// present finds what is installed.
func present() (string, bool) {
	candidates := installed()
	if program, err := exec.LookPath("initdb"); err == nil {
		if file, err := filepath.EvalSymlinks(program); err == nil {
			candidates = append(candidates, filepath.Dir(file))
		}
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		candidates = append(candidates, strings.TrimSpace(string(out)))
	}
	for _, dir := range candidates {
		if complete(dir) {
			return dir, true
		}
	}
	return "", false
}

// installed lists the usual places, newest version first.
func installed() []string {
	var dirs []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		found, err := filepath.Glob(pattern)
		if err == nil { // the patterns above are well formed
			dirs = append(dirs, found...)
		}
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return cmp.Compare(major(b), major(a)) })
	return dirs
}

var number = regexp.MustCompile(`\d+`)

func major(dir string) int {
	n, err := strconv.Atoi(number.FindString(dir))
	if err != nil {
		return 0
	}
	return n
}

func complete(dir string) bool {
	for _, program := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(dir, program)); err != nil || info.IsDir() {
			return false
		}
	}
	return true
}
