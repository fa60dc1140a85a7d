package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profile begins to gather where the cost is, for files in dir; end writes them, in the
// mean of so many lives. Without a directory nothing is gathered.
func (d *database) profile(dir string) (end func(lives int) error, err error) {
	if dir == "" {
		return func(int) error { return nil }, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	cpu, err := os.Create(filepath.Join(dir, "cpu.pprof"))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, errors.Join(err, cpu.Close())
	}
	d.counts.mu.Lock()
	d.counts.byText = map[string]*share{}
	d.counts.mu.Unlock()
	return func(lives int) error {
		pprof.StopCPUProfile()
		list, err := os.Create(filepath.Join(dir, "statements.txt"))
		if err != nil {
			return errors.Join(err, cpu.Close())
		}
		return errors.Join(d.counts.list(list, float64(max(1, lives))), list.Close(), cpu.Close())
	}, nil
}
