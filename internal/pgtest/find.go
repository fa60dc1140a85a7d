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
)

// errMissing skips the tests of a machine without PostgreSQL.
var errMissing = errors.New("pgtest: no PostgreSQL is installed: install it (Debian: apt-get install -y postgresql), " +
	"or name its programs' directory in PGTEST_BINDIR, or a server in TEST_DATABASE_URL")

// binaries finds the directory of initdb and postgres: the one that is named, the newest of Debian's, or that of the PATH.
func binaries() (string, error) {
	if dir := os.Getenv("PGTEST_BINDIR"); dir != "" {
		if !complete(dir) {
			return "", errors.New("pgtest: PGTEST_BINDIR: no initdb and postgres in " + dir)
		}
		return dir, nil
	}
	candidates, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(candidates, func(a, b string) int { return cmp.Compare(major(b), major(a)) })
	if program, missing := exec.LookPath("initdb"); missing == nil {
		program, err = filepath.EvalSymlinks(program)
		candidates = append(candidates, filepath.Dir(program))
	}
	for _, dir := range candidates {
		if complete(dir) {
			return dir, nil
		}
	}
	return "", cmp.Or(err, errMissing)
}

var number = regexp.MustCompile(`\d+`)

func major(dir string) int {
	n, _ := strconv.Atoi(number.FindString(dir)) // without a number it is the oldest
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
