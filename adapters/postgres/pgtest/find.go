package pgtest

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// errMissing is what to do on a machine without PostgreSQL.
var errMissing = errors.New("pgtest: no PostgreSQL found: install it (Debian: apt-get install -y postgresql; macOS: brew install postgresql), " +
	"or name its programs' directory in PGTEST_BINDIR, or a server in TEST_DATABASE_URL")

// binaries finds the directory of initdb and postgres.
func binaries() (string, error) {
	if dir := os.Getenv("PGTEST_BINDIR"); dir != "" {
		if !complete(dir) {
			return "", errors.New("pgtest: PGTEST_BINDIR: no initdb and postgres in " + dir)
		}
		return dir, nil
	}
	candidates := installed()
	if program, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(program); err == nil {
			candidates = append(candidates, filepath.Dir(real))
		}
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		candidates = append(candidates, strings.TrimSpace(string(out)))
	}
	for _, dir := range candidates {
		if complete(dir) {
			return dir, nil
		}
	}
	return "", errMissing
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
