package pgtest

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Spent is the processor time that the server and its connections have used so
// far, gone ones too. It reads /proc, so that only Linux has it.
func (s *Server) Spent() (sum time.Duration, err error) {
	if s.cmd == nil {
		return 0, errors.New("pgtest: the server is stopped")
	}
	master := strconv.Itoa(s.cmd.Process.Pid)
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err == nil && len(all) == 0 {
		err = errors.New("pgtest: there is no /proc to read processor times from")
	}
	for _, name := range all {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		f := strings.Fields(rest)
		switch {
		case filepath.Base(filepath.Dir(name)) == master:
			sum += ticks(f[11:15]) // with those that it waited for
		case f[1] == master:
			sum += ticks(f[11:13])
		}
	}
	return sum, err
}

func ticks(list []string) (d time.Duration) {
	for _, s := range list {
		n, err := strconv.Atoi(s)
		if err == nil {
			d += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return d
}
