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
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// proveMax is how long the self-test may take.
const proveMax = 30 * time.Second

// Prove is the self-test: a process in the jail j tries to read a file of dir, to signal
// this process and to connect to a port of this machine, which must fail, and to write a
// directory of its own, which must not; in a box it must see other processes than this one
// does. Where it is to have no way out but what it is given, it must have none, and that one.
// Shim is a command that ends in one of the shims. The error reports what the process
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
	try.TCPAlone = j.Proxied && !j.Alone()
	if j.Proxied && j.Alone() {
		try.Relay = unprivileged
		for slices.Contains(j.Closed, try.Relay) {
			try.Relay++
		}
		socket, end, err := answer(ctx)
		if err != nil {
			return p, err
		}
		defer end()
		j = j.And(work.Jail{
			Relays: []work.Relay{{Port: try.Relay, Socket: socket}},
			Ports:  []work.Ports{{First: try.Relay, Last: try.Relay}},
		})
	}
	own := work.Jail{Write: []string{try.Own}, Closed: []uint16{try.Port}}
	s := Stage{Name: "signalbox-proof-" + strings.ToLower(rand.Text()), Jail: j.And(own), Try: &try}
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

// relayed holds the answer behind the relay of a self-test.
const relayed = "relayed"

// answer says relayed at a socket until the function is called.
func answer(ctx context.Context) (socket string, end func(), err error) {
	dir, err := os.MkdirTemp("", "signalbox-") // a short name, for sockets
	if err != nil {
		return "", nil, err
	}
	socket = filepath.Join(dir, "socket")
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	g := run.New(ctx, nil)
	g.Go("answer", func(context.Context) {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(relayed)) // one that did not hear it says so
			_ = c.Close()
		}
	})
	return socket, func() {
		_ = l.Close() // nothing is owed to anybody
		g.Stop()
		_ = os.RemoveAll(dir)
	}, nil
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
	if err := connect(t.Port, nil); !errors.Is(err, unix.EACCES) && (err == nil || !boxed) {
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
	if t.TCPAlone {
		if fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0); err == nil {
			escaped = append(escaped, "it could open a socket of UDP")
			_ = unix.Close(fd)
		}
	}
	if t.Relay != 0 {
		heard := make([]byte, len(relayed))
		if err := connect(t.Relay, heard); err != nil || string(heard) != relayed {
			escaped = append(escaped, fmt.Sprintf("and the way out that it is given is none (%q, %v)", heard, err))
		}
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

// connect connects to a port of this machine, and hears what is said there.
func connect(port uint16, heard []byte) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
	if err != nil || len(heard) == 0 {
		return err
	}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5}); err != nil {
		return err
	}
	_, _, err = unix.Recvfrom(fd, heard, unix.MSG_WAITALL)
	return err
}
