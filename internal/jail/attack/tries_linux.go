package attack

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

func must(is bool, else_ string) error {
	if is {
		return nil
	}
	return errors.New(else_)
}

func reads(name string) error {
	body, err := os.ReadFile(name)
	return errors.Join(err, must(strings.Contains(string(body), proof), "it says nothing"))
}

func readsBelow(name string) func(Scene) error {
	return func(s Scene) error { return reads(filepath.Join(s.Root, name)) }
}

func writesBelow(name string, flags int) func(Scene) error {
	return func(s Scene) error { return writes(filepath.Join(s.Root, name), flags) }
}

func writes(name string, flags int) error {
	f, err := os.OpenFile(name, flags, 0o600)
	if err == nil {
		err = f.Close()
	}
	return err
}

func dial(domain, protocol, port int) error {
	fd, err := unix.Socket(domain, unix.SOCK_STREAM, protocol)
	if err != nil {
		return err
	}
	if domain == unix.AF_INET {
		return unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	}
	at := &unix.SockaddrInet6{Port: port}
	copy(at.Addr[:], net.ParseIP("127.0.0.1").To16())
	return unix.Connect(fd, at)
}

func dialUnix(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Connect(fd, &unix.SockaddrUnix{Name: name})
}
