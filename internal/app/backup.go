package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

// Backup describes what lies in a directory that MakeBackup has made.
type Backup struct {
	At      time.Time `json:"at"`
	Version string    `json:"version"` // of the program that made it
	Schema  string    `json:"schema,omitempty"`
	Files   []string  `json:"files"` // beside backup.json
}

const (
	backupNote = "backup.json"
	dumpFile   = "signalbox.dump" // of a PostgreSQL schema, in pg_dump's own format
)

// databases are the SQLite files of a data directory.
func databases() []string { return []string{"signalbox.db", "tracks.db"} }

// MakeBackup copies what the service keeps of tasks and tracks into the new directory dir, as
// one moment has it, while the service runs: SQLite files, or a dump that pg_dump makes. The
// directory appears whole or not at all.
func (s Settings) MakeBackup(ctx context.Context, dir string) (b Backup, err error) {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return b, fmt.Errorf("%s exists already: name a directory that does not", dir)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(filepath.Clean(dir)), filepath.Base(dir)+".new-")
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(fresh)) }()
	b = Backup{At: time.Now().UTC(), Version: Version()}
	if s.Shared() {
		b.Schema, b.Files = s.DatabaseSchema, []string{dumpFile}
		err = s.postgresTool(ctx, "pg_dump", "--format=custom", "--schema="+s.DatabaseSchema, "--file="+filepath.Join(fresh, dumpFile))
	} else {
		for _, name := range databases() {
			from := filepath.Join(s.DataDir, name)
			if _, none := os.Stat(from); none == nil {
				b.Files = append(b.Files, name)
				err = errors.Join(err, sqlite.Backup(ctx, from, filepath.Join(fresh, name)))
			}
		}
		if len(b.Files) == 0 {
			return b, fmt.Errorf("%sDATA_DIR: there is no %s in %s", Prefix, databases()[0], s.DataDir)
		}
	}
	if err != nil {
		return b, err
	}
	note, err := json.MarshalIndent(b, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(fresh, backupNote), append(note, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(fresh, dir)
	}
	return b, err
}

// RestoreBackup puts a backup in the place of what the service keeps. No server may run, and a backup that is
// damaged or that this program could not read afterwards is refused before anything is moved. What was there
// stays: SQLite files, or the PostgreSQL schema, get another name, which aside lists.
func (s Settings) RestoreBackup(ctx context.Context, dir string) (b Backup, aside []string, err error) {
	note, err := os.ReadFile(filepath.Join(dir, backupNote))
	if err == nil {
		err = json.Unmarshal(note, &b)
	}
	if err != nil {
		return b, nil, fmt.Errorf("%s is not a backup: %w", dir, err)
	}
	own := slices.DeleteFunc(databases(), func(name string) bool { return !slices.Contains(b.Files, name) }) // no other is followed
	switch dumped := slices.Contains(b.Files, dumpFile); {
	case dumped && !s.Shared():
		return b, nil, fmt.Errorf("%s is a backup of a PostgreSQL: set %sDATABASE_URL", dir, Prefix)
	case !dumped && s.Shared():
		return b, nil, fmt.Errorf("%s is a backup of SQLite files: unset %sDATABASE_URL", dir, Prefix)
	case !dumped && len(own) == 0:
		return b, nil, fmt.Errorf("%s is not a backup: its %s names none of %v", dir, backupNote, databases())
	case dumped && b.Schema != s.DatabaseSchema:
		return b, nil, fmt.Errorf("%s is a backup of the schema %s: set %sDATABASE_SCHEMA to it", dir, b.Schema, Prefix)
	}
	if err := b.readable(ctx, dir); err != nil {
		return b, nil, fmt.Errorf("nothing was changed: %s was made by signalbox %s and this is %s: %w", dir, b.Version, Version(), err)
	}
	if s.Shared() {
		if err := postgres.Unused(ctx, s.DatabaseURL.Reveal(), s.DatabaseSchema); err != nil {
			return b, nil, err
		}
		aside, err = s.restoreSchema(ctx, filepath.Join(dir, dumpFile))
		return b, aside, err
	}
	if err := os.MkdirAll(s.DataDir, 0o700); err != nil {
		return b, nil, fmt.Errorf("%sDATA_DIR: %w", Prefix, err)
	}
	fresh, err := os.MkdirTemp(s.DataDir, "restore.new-")
	if err != nil {
		return b, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(fresh)) }()
	for _, name := range own {
		if err := sqlite.Backup(ctx, filepath.Join(dir, name), filepath.Join(fresh, name)); err != nil {
			return b, nil, fmt.Errorf("nothing was changed: %w", err)
		}
	}
	held, err := s.Occupy() // no server begins meanwhile
	if err != nil {
		return b, nil, err
	}
	defer held.Close()
	for _, name := range databases() { // all of them first: either each is replaced or none
		if err := sqlite.Unused(ctx, filepath.Join(s.DataDir, name)); errors.Is(err, sqlite.ErrInUse) {
			return b, nil, err
		}
	}
	// A crash from here on leaves each database whole, as it was or as it is in the backup: a file has its second name before another
	// file takes the first, and Unused has emptied its -wal. One may be restored and the other not; the same restore again ends it.
	// What remains besides is fresh, of no use.
	suffix := ".before-" + time.Now().UTC().Format(asideTime)
	for _, name := range databases() {
		to, has, keep := filepath.Join(s.DataDir, name), slices.Contains(own, name), os.Rename
		for _, part := range []string{"-shm", "-wal", ""} {
			if part == "" && has {
				keep = os.Link
			}
			switch err := keep(to+part, to+suffix+part); {
			case err == nil:
				aside = append(aside, to+suffix+part)
			case !errors.Is(err, fs.ErrNotExist):
				return b, aside, err
			}
		}
		if has {
			if err := os.Rename(filepath.Join(fresh, name), to); err != nil {
				return b, aside, err
			}
		}
	}
	return b, aside, nil
}

// readable refuses a backup whose tables only another program reads. The files themselves tell, not the note
// beside them. The tables of tracks only grow.
func (b Backup) readable(ctx context.Context, dir string) error {
	if tasks := databases()[0]; slices.Contains(b.Files, tasks) {
		return sqlite.Readable(ctx, filepath.Join(dir, tasks))
	}
	if !slices.Contains(b.Files, dumpFile) {
		return nil
	}
	rows, err := runTool(ctx, "pg_restore", "", "--data-only", "--table=turn", "--file=-", filepath.Join(dir, dumpFile))
	if err != nil {
		return err
	}
	_, text, _ := strings.Cut(string(rows), "\nCOPY ")
	lines := strings.SplitN(text, "\n", 3) // "schema.turn (one, two) FROM stdin;" and the only row
	_, names, _ := strings.Cut(lines[0], "(")
	names, _, whole := strings.Cut(names, ")")
	if !whole || len(lines) < 3 {
		return fmt.Errorf("%s has no table turn: it is of another program", dumpFile)
	}
	values := strings.Split(lines[1], "\t")
	at := slices.Index(strings.Split(names, ", "), "layout")
	if at < 0 || at >= len(values) { // of before tables had one
		return nil
	}
	found, err := strconv.Atoi(values[at])
	if err != nil {
		return fmt.Errorf("%s: the layout of its tables: %w", dumpFile, err)
	}
	return postgres.Readable(b.Schema, found)
}

// asideTime is in the names of what a restore has put aside.
const asideTime = "20060102T150405Z"

// restoreSchema puts a dump in the place of the schema, which may be of a newer program, with
// tables that the dump does not name.
func (s Settings) restoreSchema(ctx context.Context, dump string) (aside []string, err error) {
	address, other := s.DatabaseURL.Reveal(), s.DatabaseSchema+"_before_"+time.Now().UTC().Format(asideTime)
	was, err := postgres.RenameSchema(ctx, address, s.DatabaseSchema, other)
	if err != nil {
		return nil, err
	}
	if err := s.postgresTool(ctx, "pg_restore", "--single-transaction", "--exit-on-error", dump); err != nil {
		if was {
			_, back := postgres.RenameSchema(ctx, address, other, s.DatabaseSchema)
			err = errors.Join(err, back)
		}
		return nil, err
	}
	if was {
		aside = []string{"schema " + other}
	}
	return aside, nil
}

// postgresTool runs one of PostgreSQL's programs on the database. The password goes by the
// environment: other users can read arguments.
func (s Settings) postgresTool(ctx context.Context, name string, args ...string) error {
	u, err := url.Parse(s.DatabaseURL.Reveal())
	if err != nil {
		return s.checkDatabase()
	}
	query := u.Query()
	password, _ := u.User.Password()
	password = cmp.Or(password, query.Get("password"))
	query.Del("password")
	u.User, u.RawQuery = url.User(u.User.Username()), query.Encode()
	_, err = runTool(ctx, name, password, append([]string{"--dbname=" + u.String()}, args...)...)
	return err
}

// runTool returns what the program prints.
func runTool(ctx context.Context, name, password string, args ...string) ([]byte, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("%s is missing: install PostgreSQL's client programs, of the server's version or a newer one: %w", name, err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = os.Environ()
	if password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+password)
	}
	var printed, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", name, err, secret.NewRedactor(password).Text(strings.TrimSpace(said.String())))
	}
	return printed.Bytes(), nil
}

// keepModes gives the service's files their modes back until ctx ends.
func (v *Service) keepModes(ctx context.Context) {
	for run.Sleep(ctx, run.Real{}, 30*time.Second) == nil {
		if err := v.mendModes(); err != nil {
			v.Log.Error("the modes of the service's own files cannot be put right", "err", err)
		}
	}
}

// mendModes gives the owner the service's files and directories back: an agent, whose files are the same
// user's, can take them away where no namespace hides them. What is another user's (lost+found) stays as it is.
func (v *Service) mendModes() error {
	dir := v.Settings.DataDir
	var mended []string
	for _, pattern := range []string{".", "*", "git/*", "git/mirrors/*", "logs/*", "running/*"} { // agents write in none of them
		names, _ := fs.Glob(os.DirFS(dir), pattern) // no pattern is wrong
		for _, name := range names {
			info, err := os.Lstat(filepath.Join(dir, name))
			if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
				continue // it has gone, or is a link
			}
			least := fs.FileMode(0o600)
			if info.IsDir() {
				least = 0o700
			}
			if info.Mode().Perm()&least == least {
				continue
			}
			switch err := os.Chmod(filepath.Join(dir, name), info.Mode().Perm()|least); {
			case err == nil:
				mended = append(mended, name)
			case !errors.Is(err, fs.ErrPermission):
				return err
			}
		}
	}
	if len(mended) > 0 {
		runs, _ := fs.Glob(os.DirFS(dir), "running/*.json") // each name begins with the number of the task
		v.Log.Warn("the service's own files had lost their modes, and have them again: an agent may have taken them away",
			"files", mended, "runs", runs)
	}
	return nil
}
