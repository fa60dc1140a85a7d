package attack

import (
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	asOwner = 0o4755 // everybody runs it as its owner
	makes   = unix.O_CREAT | unix.O_WRONLY
)

// onModes leave a program behind with which other users of the machine become the service's: by a file that
// is there and open, or one that is made.
func onModes() (list []Attack) {
	add := func(name string, control bool, set func(f *os.File, absent string) error) {
		list = append(list, Attack{"set the user bit by " + name, Seccomp, control, func(s Scene) error {
			absent := filepath.Join(s.Own(), "absent")
			f, err := os.Create(filepath.Join(s.Own(), "made"))
			if err != nil {
				return err
			}
			defer f.Close()
			return set(f, absent)
		}})
	}
	add("fchmod", true, func(f *os.File, _ string) error { return unix.Fchmod(int(f.Fd()), asOwner) })
	add("fchmodat", true, func(f *os.File, _ string) error { return unix.Fchmodat(unix.AT_FDCWD, f.Name(), asOwner, 0) })
	add("fchmodat2", true, func(f *os.File, _ string) error {
		return unix.Fchmodat(unix.AT_FDCWD, f.Name(), asOwner, unix.AT_SYMLINK_NOFOLLOW)
	})
	add("openat", true, func(_ *os.File, name string) error {
		_, err := unix.Openat(unix.AT_FDCWD, name, makes, asOwner)
		return err
	})
	add("openat2", true, func(_ *os.File, name string) error {
		_, err := unix.Openat2(unix.AT_FDCWD, name, &unix.OpenHow{Flags: makes, Mode: asOwner})
		return err
	})
	add("a file without a name", false, func(_ *os.File, name string) error { // not every file system has them
		_, err := unix.Open(filepath.Dir(name), unix.O_TMPFILE|unix.O_RDWR, asOwner)
		return err
	})
	add("mknodat", true, func(_ *os.File, name string) error { return unix.Mknodat(unix.AT_FDCWD, name, unix.S_IFREG|asOwner, 0) })
	add("mkdirat", true, func(_ *os.File, name string) error { return unix.Mkdirat(unix.AT_FDCWD, name, asOwner) })
	if runtime.GOARCH != "amd64" {
		return list
	}
	for _, old := range []struct { // that only this architecture has
		name string
		nr   uintptr
		args [2]uintptr
	}{
		{"open", 2, [2]uintptr{makes, asOwner}},
		{"mkdir", 83, [2]uintptr{asOwner}},
		{"creat", 85, [2]uintptr{asOwner}},
		{"chmod", 90, [2]uintptr{asOwner}},
		{"mknod", 133, [2]uintptr{unix.S_IFREG | asOwner}},
	} {
		add(old.name, true, func(f *os.File, name string) error {
			if old.name == "chmod" {
				name = f.Name()
			}
			p, err := unix.BytePtrFromString(name)
			if err != nil {
				return err
			}
			return call(old.nr, uintptr(unsafe.Pointer(p)), old.args[0], old.args[1])
		})
	}
	return list
}
