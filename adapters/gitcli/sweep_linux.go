package gitcli

import (
	"io/fs"
	"syscall"
	"time"
)

// inodeChanged is when the inode of a file was changed last: its content, its names or its rights.
func inodeChanged(info fs.FileInfo) time.Time {
	at, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Now()
	}
	return time.Unix(at.Ctim.Unix())
}
