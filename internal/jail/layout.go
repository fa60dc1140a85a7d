package jail

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// linksMax bounds how many symbolic links a name may go through.
const linksMax = 40

// layout names the files of the machine that a box shows: directories and files at their own
// names, and the links by which the names of a jail lead to them.
type layout struct {
	write map[string]bool   // by path, true where it may be changed
	links map[string]string // targets by path
}

// layoutOf finds the files of a jail. Names to be read that cannot be reached count for
// nothing; names to be written must be there, and be no links.
func layoutOf(j work.Jail) (layout, error) {
	l := layout{write: map[string]bool{}, links: map[string]string{}}
	read := slices.Clone(j.Read)
	for _, r := range j.Relays {
		read = append(read, r.Socket)
	}
	for _, name := range read {
		if at, err := l.follow(filepath.Clean(name)); err == nil && !l.write[at] {
			l.write[at] = false
		}
	}
	for _, name := range j.Write { // a link could have been put there by an agent
		info, err := os.Lstat(name)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			err = &os.PathError{Op: "open", Path: name, Err: errors.New("is a symbolic link")}
		}
		if err != nil {
			return l, err
		}
		at, err := l.follow(filepath.Clean(name))
		if err != nil {
			return l, err
		}
		l.write[at] = true
	}
	l.prune()
	return l, nil
}

// follow notes the links on the way of an absolute name, and returns where it leads.
func (l layout) follow(name string) (string, error) {
	if !filepath.IsAbs(name) {
		return "", fmt.Errorf("%s is to be an absolute path", name)
	}
	links, followed := map[string]string{}, 0
	done, left := "/", strings.Split(strings.Trim(name, "/"), "/")
	for len(left) > 0 {
		next := filepath.Join(done, left[0])
		info, err := os.Lstat(next)
		if err != nil {
			return "", err
		}
		left = left[1:]
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		links[next] = target
		if followed++; followed > linksMax {
			return "", &os.PathError{Op: "open", Path: name, Err: errors.New("too many symbolic links")}
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		left = slices.Concat(strings.Split(strings.Trim(filepath.Clean(target), "/"), "/"), left)
	}
	maps.Copy(l.links, links)
	return done, nil
}

// prune leaves out what is to be seen in a directory that is shown anyway, with the same
// or more rights.
func (l layout) prune() {
	covered := func(name string, least bool) bool {
		for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
			if writes, ok := l.write[dir]; ok && (writes || !least) {
				return true
			}
			if dir == filepath.Dir(dir) {
				return false
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.write)) {
		if covered(name, l.write[name]) {
			delete(l.write, name)
		}
	}
	for name := range l.links {
		if covered(name, false) {
			delete(l.links, name)
		}
	}
}
