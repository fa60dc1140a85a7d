package command

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/app"
)

type backupCmd struct {
	Dir string `arg:"" help:"A directory that does not exist yet."`
	output
}

// Run copies what the service keeps, while it runs.
func (c backupCmd) Run(s *streams) error {
	settings, err := app.Load(os.Environ())
	if err != nil {
		return err
	}
	b, err := settings.MakeBackup(context.Background(), c.Dir)
	if err != nil {
		return err
	}
	return c.say(s.out, b, "%s: %v of %s\n", c.Dir, b.Files, b.At.Format(time.RFC3339))
}

type copyCmd struct {
	From string `default:"sqlite" help:"What the settings name: sqlite, or the path of the file or its directory."`
	To   string `required:"" help:"The PostgreSQL, as postgres://user@host/name; its password may be in PGPASSWORD."`
	output
}

// Run fills a PostgreSQL with what the SQLite file keeps.
func (c copyCmd) Run(s *streams) error {
	settings, err := app.Load(os.Environ())
	if err != nil {
		return err
	}
	err = settings.ConfirmSource(c.From)
	var counts map[string]int64
	if err == nil {
		counts, err = settings.CopyTo(context.Background(), c.To)
	}
	if err != nil {
		return fmt.Errorf("nothing was copied: %w", err)
	}
	return c.print(s.out, map[string]any{"rows": counts}, func(w io.Writer) error {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(w, "%s: %d rows in both\n", name, counts[name])
		}
		_, err := fmt.Fprintln(w, "The journal is whole and the same. "+
			"Set ORCH_DATABASE_URL before a server starts. Tracks are collected again.")
		return err
	})
}

type restoreCmd struct {
	Dir string `arg:"" help:"A directory that backup has made."`
	output
}

// Run puts a backup in the place of what the service keeps, with all servers stopped.
func (c restoreCmd) Run(s *streams) error {
	settings, err := app.Load(os.Environ())
	if err != nil {
		return err
	}
	b, aside, err := settings.RestoreBackup(context.Background(), c.Dir)
	if err != nil {
		for _, name := range aside {
			fmt.Fprintf(s.err, "kept: %s\n", name)
		}
		return err
	}
	restored := struct {
		app.Backup
		Kept []string `json:"kept"` // what was there before
	}{b, append([]string{}, aside...)}
	return c.print(s.out, restored, func(w io.Writer) error {
		for _, name := range aside {
			fmt.Fprintf(w, "kept: %s\n", name)
		}
		_, err := fmt.Fprintf(w, "restored: %v of %s\n", b.Files, b.At.Format(time.RFC3339))
		return err
	})
}
