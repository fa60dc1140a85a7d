package attack

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// proof is in every file that an attacker must not read.
const proof = "the service's own"

// Build makes a scene in a directory, which it makes too; this process is its service. The
// function ends and removes all of it.
func Build(dir string) (s Scene, remove func(), err error) {
	s = Scene{Root: dir, Service: os.Getpid()}
	var ends []func()
	remove = func() {
		for _, end := range ends {
			end()
		}
		_ = os.RemoveAll(dir) // what is left is nobody's
		if s.Sockets != "" {
			_ = os.RemoveAll(s.Sockets)
		}
	}
	if s.IPC, err = os.Readlink(queues); err == nil {
		err = s.write()
	}
	if err == nil {
		ends, err = s.listen()
	}
	if err == nil {
		var end func()
		if end, err = s.sacrifice(); err == nil {
			ends = append(ends, end)
		}
	}
	if err != nil {
		remove()
	}
	return s, remove, err
}

func (s *Scene) write() (err error) {
	for _, name := range []string{
		"data/signalbox.db", "data/running/2.json",
		"data/git/work/a/main.go", "data/git/work/a/src/x.go", "data/git/work/b/main.go", "data/git/repos/a.git/config",
		"data/git/mirrors/m.git/refs", "data/git/mirrors/m.git/objects/aa",
		"data/logs/task-1/outbox-1/x", "data/logs/task-1/outbox-2/review.md", "data/logs/task-2/001.out",
		"data/homes/1/home/x", "data/homes/1/tmp/x", "home/.ssh/id",
	} {
		name = filepath.Join(s.Root, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o700))
		err = errors.Join(err, os.WriteFile(name, []byte(proof), 0o600))
	}
	if err == nil {
		s.Sockets, err = os.MkdirTemp("", "scene-") // a short name, for sockets
		s.Name = filepath.Base(s.Sockets)
	}
	return err
}

// listen opens what the service listens at.
func (s *Scene) listen() (ends []func(), err error) {
	port := func(at **net.TCPListener) (int, error) {
		l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return 0, err
		}
		*at = l
		return l.Addr().(*net.TCPAddr).Port, nil //nolint:forcetypeassert // it is of TCP
	}
	var service, free, outside *net.TCPListener
	if s.Port, err = port(&service); err != nil {
		return ends, err
	}
	ends = append(ends, func() { _ = service.Close() })
	if s.Free, err = port(&free); err != nil {
		return ends, err
	}
	_ = free.Close() // nothing came in
	if s.Outside, err = port(&outside); err != nil {
		return ends, err
	}
	end, err := echo(outside)
	if err != nil {
		return append(ends, func() { _ = outside.Close() }), err
	}
	ends = append(ends, end)
	for _, name := range []string{"@" + s.Name, filepath.Join(s.Sockets, "socket")} {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: name})
		if err != nil {
			return ends, err
		}
		ends = append(ends, func() { _ = l.Close() })
	}
	packets, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: filepath.Join(s.Sockets, "datagrams")})
	if err == nil {
		ends = append(ends, func() { _ = packets.Close() })
	}
	return ends, err
}

// sacrifice starts the victim.
func (s *Scene) sacrifice() (end func(), err error) {
	db, err := os.Open(s.DB())
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if s.Open, err = unix.Dup(int(db.Fd())); err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("token", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	token := os.NewFile(uintptr(fd), "token")
	defer token.Close()
	if _, err := token.WriteString(proof); err != nil {
		return nil, err
	}
	victim := exec.Command("sleep", "60")
	victim.Dir, victim.ExtraFiles = filepath.Join(s.Root, "data"), []*os.File{db, token}
	if err := victim.Start(); err != nil {
		return nil, err
	}
	s.Victim = victim.Process.Pid
	return func() { _, _, _ = unix.Close(s.Open), victim.Process.Kill(), victim.Wait() }, nil // it may have been killed
}
