//go:build linux

package jail_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/internal/jail/attack"
)

// nobody runs the attacks when the test is started by root, unless there is a user of the
// name tester: containers without root need a user that has a name and further numbers.
const (
	nobody = 1500
	tester = "signalbox-test"
)

// asRoot is set for the test that runs as root of a user namespace.
const asRoot = "JAILTEST_ROOT"

// callsDir names the directory with the kernel's tables of system calls, of callsFiles.
const (
	callsDir   = "JAILTEST_CALLS"
	callsFiles = "zsysnum_linux_a*64.go"
)

// TestMain lets the test's own program be a shim, and an attacker. Root starts it once
// more as another user; without root it starts once more as root of a namespace of its own.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "shim":
		os.Exit(jail.RunShim("shim", 2, shim))
	case len(os.Args) > 2 && os.Args[1] == "attack":
		var s attack.Scene
		if err := json.Unmarshal([]byte(os.Getenv("SCENE")), &s); err != nil {
			panic(err)
		}
		os.Exit(s.Make(os.Args[2], os.Stdout))
	case len(os.Args) > 1 && os.Args[1] == "euid":
		fmt.Print(os.Geteuid())
		os.Exit(0)
	case len(os.Args) > 1 && os.Args[1] == "survivors":
		os.Exit(survivors())
	case os.Getenv(asRoot) != "":
		os.Exit(m.Run())
	case os.Getuid() == 0:
		findCalls()
		code, err := asNobody()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}
	findCalls()
	code := m.Run()
	if !slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.list") }) {
		code = max(code, asRootOfNamespace())
	}
	os.Exit(code)
}

// findCalls finds it, where nobody has yet.
func findCalls() {
	if os.Getenv(callsDir) != "" {
		return
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err == nil {
		err = os.Setenv(callsDir, filepath.Join(strings.TrimSpace(string(dir)), "unix"))
	}
	if err != nil {
		panic(err)
	}
}

// asRootOfNamespace runs this program as root of a user namespace, in which the files and
// processes that it may touch are those of this user.
func asRootOfNamespace() int {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), asRoot+"=1", "SUID=")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := cmd.Start(); err != nil {
		fmt.Printf("jail: root: SKIPPED: this machine gives no user namespaces: %v\n", err)
		return 0
	}
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// asNobody runs this program as another user, in a directory and a cgroup of its own. There
// it finds a program that makes its caller root.
func asNobody() (int, error) {
	dir, err := os.MkdirTemp("", "jailtest-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return 1, err
	}
	id := uint32(nobody)
	env := append(os.Environ(), "TMPDIR="+filepath.Join(dir, "tmp"), "HOME="+filepath.Join(dir, "tmp"), "SUID="+filepath.Join(dir, "suid"), "XDG_RUNTIME_DIR="+filepath.Join(dir, "run"))
	if u, err := user.Lookup(tester); err == nil {
		n, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return 1, err
		}
		id = uint32(n)
	}
	calls, err := filepath.Glob(filepath.Join(os.Getenv(callsDir), callsFiles))
	if err != nil {
		return 1, err
	}
	env = append(env, callsDir+"="+dir)
	own := func(name string) error {
		return errors.Join(os.Mkdir(filepath.Join(dir, name), 0o700), os.Chown(filepath.Join(dir, name), int(id), int(id)))
	}
	for _, step := range []func() error{
		func() error { return os.Chmod(dir, 0o755) },
		func() error { return own("tmp") },
		func() error { return own("run") },
		func() error { return os.WriteFile(filepath.Join(dir, "jail.test"), program, 0o755) },
		func() error { return os.WriteFile(filepath.Join(dir, "suid"), program, 0o755) },
		func() error {
			for _, name := range calls {
				body, err := os.ReadFile(name)
				if err := errors.Join(err, os.WriteFile(filepath.Join(dir, filepath.Base(name)), body, 0o644)); err != nil {
					return err
				}
			}
			return nil
		},
		func() error { return os.Chmod(filepath.Join(dir, "suid"), 0o755|os.ModeSetuid) },
	} {
		if err := step(); err != nil {
			return 1, err
		}
	}
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool { // files that only root may write
		return strings.HasPrefix(a, "-test.testlogfile") || strings.HasPrefix(a, "-test.coverprofile") || strings.HasPrefix(a, "-test.gocoverdir")
	})
	cmd := exec.Command(filepath.Join(dir, "jail.test"), args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
	if group, err := delegate(filepath.Base(dir), int(id)); err == nil {
		defer remove(group)
		fd, err := os.Open(group)
		if err != nil {
			return 1, err
		}
		defer fd.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(fd.Fd())
	}
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), nil
}

// delegate makes a cgroup and gives it to a user, as systemd does with Delegate=yes.
func delegate(name string, uid int) (string, error) {
	root := "/sys/fs/cgroup"
	if _, err := os.Stat(root + "/unified"); err == nil {
		root += "/unified"
	}
	group := filepath.Join(root, name)
	if err := os.Mkdir(group, 0o755); err != nil {
		return "", err
	}
	for _, c := range []string{"memory", "pids", "cpu"} { // of those that there are
		_ = os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+"+c), 0)
	}
	var err error
	for _, file := range []string{"", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} {
		err = errors.Join(err, os.Chown(filepath.Join(group, file), uid, uid))
	}
	return group, err
}

// remove removes a cgroup and those in it.
func remove(group string) {
	entries, _ := os.ReadDir(group)
	for _, e := range entries {
		if e.IsDir() {
			remove(filepath.Join(group, e.Name()))
		}
	}
	_ = os.Remove(group)
}

// shim does what the shims of agents and checks do: start a process in a jail, and wait
// for it.
func shim(_ io.Reader, o jail.Order) (int, error) {
	p, err := o.Start(o.Argv[0], os.DevNull, &os.ProcAttr{Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 2, err
	}
	state, err := p.Wait()
	if err == nil {
		err = o.Clear(context.Background())
	}
	if err != nil {
		return 2, err
	}
	return state.ExitCode(), nil
}
