package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// environmentFD is the variable by which the server finds the environment that it has
// handed over to itself: the number of an open file.
const environmentFD = "SIGNALBOX_ENVIRONMENT_FD"

// hideSecrets keeps other processes of the same user, agents among them, from reading this
// one's memory (/proc/PID/mem), and takes the environment out of /proc/PID/environ, which
// shows what a process was started with for as long as it lives, whatever it unsets: the
// program starts itself again in its own place, with the same number, and reads its
// environment from a file without a name. From then on os.Getenv has what it had before.
func hideSecrets() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	if fd, ok := os.LookupEnv(environmentFD); ok {
		return takeEnvironment(fd)
	}
	fd, err := unix.MemfdCreate("environment", 0) // it stays open for the program that comes
	if err != nil {
		return fmt.Errorf("a file for the environment: %w", err)
	}
	body := strings.Join(os.Environ(), "\x00")
	if _, err := unix.Pwrite(fd, []byte(body), 0); err != nil {
		return fmt.Errorf("a file for the environment: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	environ := append(plain(os.Environ()), environmentFD+"="+strconv.Itoa(fd))
	return fmt.Errorf("%s cannot be started again: %w", self, syscall.Exec(self, os.Args, environ))
}

// plain are the variables that stay: what Go's runtime and the system's libraries read at
// the start of a program.
func plain(environ []string) []string {
	kept := []string{
		"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR",
		"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GOCOVERDIR",
	}
	return slices.DeleteFunc(environ, func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return !slices.Contains(kept, name)
	})
}

// takeEnvironment makes the environment what was handed over.
func takeEnvironment(number string) error {
	fd, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("%s is %q: the server sets it itself", environmentFD, number)
	}
	f := os.NewFile(uintptr(fd), "environment")
	body, errRead := io.ReadAll(f)
	if err := errors.Join(errRead, f.Close(), os.Unsetenv(environmentFD)); err != nil {
		return fmt.Errorf("the environment that was handed over: %w", err)
	}
	for pair := range strings.SplitSeq(string(body), "\x00") {
		if name, value, ok := strings.Cut(pair, "="); ok && name != "" {
			if err := os.Setenv(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}
