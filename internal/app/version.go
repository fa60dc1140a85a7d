package app

import "runtime/debug"

// Version returns the version of the program.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// Commit is the revision that the program was built from, with a plus when files had
// been changed since; empty when the build does not record it.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	at := func(key string) string {
		for _, s := range info.Settings {
			if s.Key == key {
				return s.Value
			}
		}
		return ""
	}
	revision := at("vcs.revision")
	if at("vcs.modified") == "true" {
		revision += "+"
	}
	return revision
}
