package jail

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// proveMax is how long the self-test may take.
const proveMax = 30 * time.Second

// Prove is the self-test: a process in the jail j tries to read a file of dir, to signal
// this process and to connect to a port of this machine, which must fail, and to write a
// directory of its own, which must not; in a box it must see other processes than this one
// does. Shim is a command that ends in one of the shims. The error reports what the process
// could do, or that there is no jail.
func Prove(ctx context.Context, shim []string, dir string, j work.Jail) (p Proof, err error) {
	p = Proof{Box: j.Box.Kind}
	abi, err := landlockABI()
	switch {
	case err == nil && abi < abiScopes && p.Box == "":
		p.Weak = "it does not cover signals: an agent may end other processes of the user, the service among them (Linux 6.12 covers them)"
	case err != nil && p.Box == "":
		return p, err
	case err != nil:
		p.Weak = "TCP ports of the network that they have are open to agents: " + err.Error()
	}
	temp, err := os.MkdirTemp(dir, "jail-")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(temp)
	if temp, err = filepath.EvalSymlinks(temp); err != nil {
		return p, err
	}
	try := Try{Canary: filepath.Join(temp, "canary"), Own: filepath.Join(temp, "own"), PID: os.Getpid()}
	if err := errors.Join(os.WriteFile(try.Canary, []byte("alive"), 0o600), os.Mkdir(try.Own, 0o700)); err != nil {
		return p, err
	}
	if try.PIDs, err = os.Readlink(processes); err != nil {
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
	s := Stage{Name: "signalbox-proof-" + strings.ToLower(rand.Text()), Jail: j.And(work.Jail{Write: []string{try.Own}, Closed: []uint16{try.Port}}), Try: &try}
	order, err := json.Marshal(Order{Stage: &s})
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, Clear(context.WithoutCancel(ctx), s.Jail, s.Name)) }()
	ctx, cancel := context.WithTimeout(ctx, proveMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, shim[0], shim[1:]...)
	cmd.Stdin, cmd.Dir, cmd.Env = bytes.NewReader(append(order, '\n')), try.Own, []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return p, fmt.Errorf("the jail's self-test failed: %w: %s", err, bytes.TrimSpace(out))
	}
	body, err := os.ReadFile(filepath.Join(try.Own, "proof"))
	if err == nil {
		p.ABI, err = strconv.Atoi(string(body))
	}
	switch {
	case err != nil:
		return p, errors.New("the jail's self-test has not run: nothing was written")
	case p.ABI < leastABI && p.Weak == "":
		p.Weak = "TCP ports of the network that they have are open to agents: no Landlock holds in the box"
	}
	return p, nil
}

// processes is a link to the namespace of processes that this one is in.
const processes = "/proc/self/ns/pid"

// run tries what must fail and what must not, on the thread that is in the jail.
func (t Try) run(boxed bool) error {
	var escaped []string
	if _, err := os.ReadFile(t.Canary); err == nil {
		escaped = append(escaped, "it could read a file of the service")
	}
	if _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid())); err == nil && !boxed { // in a box that is the box
		escaped = append(escaped, "it could read the environment of the service")
	}
	if t.PID != 0 && unix.Kill(t.PID, 0) == nil {
		escaped = append(escaped, "it could signal the service")
	}
	// In a box it may have a network of its own, where nobody listens.
	if err := connect(t.Port); !errors.Is(err, unix.EACCES) && (err == nil || !boxed) {
		escaped = append(escaped, fmt.Sprintf("it could connect to a closed port (%v)", err))
	}
	if _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, false); !errors.Is(err, unix.EPERM) {
		escaped = append(escaped, fmt.Sprintf("seccomp does not hold (%v)", err))
	}
	if own, err := os.Readlink(processes); boxed && (err != nil || own == t.PIDs) {
		escaped = append(escaped, fmt.Sprintf("it is among the processes of the service (%v)", err))
	}
	if boxed && os.Chmod(t.Canary, 0o600) == nil {
		escaped = append(escaped, "it could change the mode of a file of the service")
	}
	if len(escaped) > 0 {
		return errors.New(strings.Join(escaped, "; "))
	}
	abi, err := landlockABI()
	if err != nil {
		abi = 0 // the box stands without it
	}
	return os.WriteFile(filepath.Join(t.Own, "proof"), []byte(strconv.Itoa(abi)), 0o600)
}

func connect(port uint16) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
}
