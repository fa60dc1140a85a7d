package jail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// proveMax is how long the self-test may take.
const proveMax = 30 * time.Second

// Prove is the self-test: a process in the jail j tries to read a file of dir, to signal
// this process and to connect to a port of this machine, which must fail, and to write a
// directory of its own, which must not. Shim is a command that ends in one of the shims.
// The error says what the process could do, or that there is no jail.
func Prove(ctx context.Context, shim []string, dir string, j work.Jail) (Proof, error) {
	p := Proof{}
	var err error
	if p.ABI, err = landlockABI(); err != nil {
		return p, err
	}
	if p.ABI < abiScopes {
		p.Weak = "it does not cover signals: an agent may end other processes of the user, the service among them (Linux 6.12 covers them)"
	}
	temp, err := os.MkdirTemp(dir, "jail-")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(temp)
	try := Try{Canary: filepath.Join(temp, "canary"), Own: filepath.Join(temp, "own"), PID: os.Getpid()}
	if err := errors.Join(os.WriteFile(try.Canary, []byte("alive"), 0o600), os.Mkdir(try.Own, 0o700)); err != nil {
		return p, err
	}
	if p.Weak != "" {
		try.PID = 0
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return p, err
	}
	defer func() { _ = l.Close() }()                // nothing came in
	try.Port = uint16(l.Addr().(*net.TCPAddr).Port) //nolint:forcetypeassert // it is of TCP
	order, err := json.Marshal(Order{Stage: &Stage{Jail: j.And(work.Jail{Write: []string{try.Own}, Closed: []uint16{try.Port}}), Try: &try}})
	if err != nil {
		return p, err
	}
	ctx, cancel := context.WithTimeout(ctx, proveMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, shim[0], shim[1:]...)
	cmd.Stdin, cmd.Dir, cmd.Env = bytes.NewReader(append(order, '\n')), temp, []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return p, fmt.Errorf("the jail's self-test failed: %w: %s", err, bytes.TrimSpace(out))
	}
	if body, err := os.ReadFile(filepath.Join(try.Own, "proof")); err != nil || string(body) != "proof" {
		return p, errors.New("the jail's self-test has not run: nothing was written")
	}
	return p, nil
}

// run tries what must fail and what must not, on the thread that is in the jail.
func (t Try) run() error {
	var escaped []string
	if _, err := os.ReadFile(t.Canary); err == nil {
		escaped = append(escaped, "it could read a file of the service")
	}
	if _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid())); err == nil {
		escaped = append(escaped, "it could read the environment of the service")
	}
	if t.PID != 0 && unix.Kill(t.PID, 0) == nil {
		escaped = append(escaped, "it could signal the service")
	}
	if err := connect(t.Port); !errors.Is(err, unix.EACCES) {
		escaped = append(escaped, fmt.Sprintf("it could connect to a closed port (%v)", err))
	}
	if _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, false); !errors.Is(err, unix.EPERM) {
		escaped = append(escaped, fmt.Sprintf("seccomp does not hold (%v)", err))
	}
	if len(escaped) > 0 {
		return errors.New(strings.Join(escaped, "; "))
	}
	return os.WriteFile(filepath.Join(t.Own, "proof"), []byte("proof"), 0o600)
}

func connect(port uint16) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
}
