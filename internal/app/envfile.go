package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"syscall"
)

// EnvFile is the file of the working directory that settings are read from. A variable of
// the environment, also one that names the file of a secret, goes before it.
const EnvFile = "signalbox.env"

// variable is a line of an EnvFile.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ReadEnvFile reads lines of NAME=value; lines that are empty or begin with # are left out. It
// has secrets and decides what is run, so an error is what others than its owner may read or
// write, and what is not this user's. A file that is not there has none.
func ReadEnvFile(name string) (pairs []string, err error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", name)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s has the mode %04o, and may be read or written by others: chmod 600 %s", name, info.Mode().Perm(), name)
	case ok && int(owner.Uid) != os.Geteuid():
		return nil, fmt.Errorf("%s belongs to another user: run the service as its owner, or remove it", name)
	}
	body, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	number := 0
	for line := range strings.Lines(string(body)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		left, value, found := strings.Cut(line, "=")
		if !found || !variable.MatchString(left) {
			return nil, fmt.Errorf("%s:%d: want NAME=value", name, number)
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		pairs = append(pairs, left+"="+value)
	}
	return pairs, nil
}

// UseEnvFile adds the EnvFile of the working directory to the environment of this process.
func UseEnvFile() error {
	pairs, err := ReadEnvFile(EnvFile)
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		_, set := os.LookupEnv(name)
		_, filed := os.LookupEnv(name + fileSuffix)
		if !set && !filed {
			err = errors.Join(err, os.Setenv(name, value))
		}
	}
	return err
}
