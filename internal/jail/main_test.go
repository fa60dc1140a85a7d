//go:build linux

package jail_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/internal/jail/attack"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// nobody runs the attacks when the test is started by root.
const nobody = 1500

// TestMain lets the test's own program be a shim, and an attacker. Root starts it once
// more as somebody else.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "shim":
		os.Exit(shim())
	case len(os.Args) > 2 && os.Args[1] == "attack":
		var s attack.Scene
		if err := json.Unmarshal([]byte(os.Getenv("SCENE")), &s); err != nil {
			panic(err)
		}
		os.Exit(s.Make(os.Args[2], os.Stdout))
	case len(os.Args) > 1 && os.Args[1] == "euid":
		fmt.Print(os.Geteuid())
		os.Exit(0)
	case os.Getuid() == 0:
		code, err := asNobody()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// asNobody runs this program as another user, in a directory of its own. There it finds a
// program that makes whoever runs it root.
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
	for _, step := range []func() error{
		func() error { return os.Chmod(dir, 0o755) },
		func() error { return os.Mkdir(filepath.Join(dir, "tmp"), 0o755) },
		func() error { return os.Chown(filepath.Join(dir, "tmp"), nobody, nobody) },
		func() error { return os.WriteFile(filepath.Join(dir, "jail.test"), program, 0o755) },
		func() error { return os.WriteFile(filepath.Join(dir, "suid"), program, 0o755) },
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
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(dir, "tmp"), "HOME="+filepath.Join(dir, "tmp"), "SUID="+filepath.Join(dir, "suid"))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), nil
}

// order is what the test's shim is given.
type order struct {
	jail.Order
	Jail *work.Jail `json:"jail"` // nil: not confined
	Argv []string   `json:"argv"`
}

// shim does what the shims of agents and checks do: start a process in a jail, and wait
// for it.
func shim() int {
	line, err := bufio.NewReader(os.Stdin).ReadBytes('\n')
	var o order
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "shim:", err)
		return 2
	}
	if o.Stage != nil {
		return o.Stage.Run()
	}
	attr := &os.ProcAttr{Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}}
	var p *os.Process
	if o.Jail == nil {
		p, err = os.StartProcess(o.Argv[0], o.Argv, attr)
	} else {
		p, err = jail.Start(jail.Stage{Jail: *o.Jail, Path: o.Argv[0], Argv: o.Argv, Stdin: os.DevNull}, attr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "shim:", err)
		return 2
	}
	state, err := p.Wait()
	if err != nil {
		return 2
	}
	return state.ExitCode()
}
