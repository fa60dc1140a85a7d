package work

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// CheckPaths returns an error that reports what is wrong with paths of Keep and Beside.
func (s Workspace) CheckPaths() error {
	paths := slices.Clone(s.Keep)
	for _, f := range s.Beside {
		paths = append(paths, f.Path)
	}
	return CheckKeep(paths)
}

// CheckKeep returns an error that reports what is wrong with paths of Space.Keep.
func CheckKeep(paths []string) error {
	for _, name := range paths {
		local := path.Clean(name) == name && name != "." && filepath.IsLocal(filepath.FromSlash(name))
		inside := local && !strings.ContainsAny(name, "\\\x00\n")
		for part := range strings.SplitSeq(name, "/") {
			inside = inside && !strings.EqualFold(part, ".git")
		}
		if !inside {
			return fmt.Errorf("%w: %q, want a directory inside the repository such as node_modules or web/.cache, "+
				"without .., a slash at its ends, or .git", ErrBadName, name)
		}
	}
	return nil
}
