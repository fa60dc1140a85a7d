package main

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/examples/wiring"
)

type backupCmd struct {
	Dir string `arg:"" help:"A directory that does not exist yet."`
}

// Run copies what the service keeps, while it runs.
func (c backupCmd) Run(s *streams) error {
	settings, err := wiring.Load(wiring.Environ())
	if err != nil {
		return err
	}
	b, err := settings.MakeBackup(context.Background(), c.Dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s: %v of %s\n", c.Dir, b.Files, b.At.Format(time.RFC3339))
	return nil
}

type restoreCmd struct {
	Dir string `arg:"" help:"A directory that backup has made."`
}

// Run puts a backup in the place of what the service keeps, with all servers stopped.
func (c restoreCmd) Run(s *streams) error {
	settings, err := wiring.Load(wiring.Environ())
	if err != nil {
		return err
	}
	b, aside, err := settings.RestoreBackup(context.Background(), c.Dir)
	for _, name := range aside {
		fmt.Fprintf(s.out, "kept: %s\n", name)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "restored: %v of %s\n", b.Files, b.At.Format(time.RFC3339))
	return nil
}
