package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
)

// gather finds the files that paths name: a file, or those of a folder and what is below it.
// What a file is shows when it is read. passed are those that are not read: links, which are
// not followed, and devices.
func gather(paths []string) (out []collect.File, passed []collect.FileReport, err error) {
	add := func(path string) {
		out = append(out, collect.File{Name: path, Open: func() (io.ReadCloser, error) { return os.Open(path) }})
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, nil, fmt.Errorf("--file: %w", err)
		}
		if !info.IsDir() {
			add(path)
			continue
		}
		err = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || d.IsDir():
			case d.Type().IsRegular():
				add(path)
			default:
				passed = append(passed, collect.FileReport{File: path, Reason: gpstracks.ReasonForeign,
					Detail: "a link or a device, which is not followed"})
			}
			return err
		})
		if err != nil {
			return nil, nil, fmt.Errorf("--file: %w", err)
		}
	}
	if len(out) == 0 {
		return nil, nil, errors.New("--file: there is no file to read")
	}
	return out, passed, nil
}

// reportVersion is that of the form of a report.
const reportVersion = 1

// report is the file that --report writes.
type report struct {
	Version int                  `json:"version"`
	Source  string               `json:"source"`
	DryRun  bool                 `json:"dry_run"`
	Status  gpstracks.RunStatus  `json:"status"`
	Error   string               `json:"error,omitempty"`
	Read    int                  `json:"read"` // tracks and routes
	New     int                  `json:"new"`
	Updated int                  `json:"updated"`
	Known   int                  `json:"known"`
	Files   []collect.FileReport `json:"files"`

	NotKept gpstracks.Tally `json:"not_kept"` // by reason
	Changed gpstracks.Tally `json:"changed"`  // kept, and not as in the file, by reason
}

// write writes the report of a run. The file is there as a whole or not at all.
func (r report) write(path string, run gpstracks.Run, err error) error {
	r.Version, r.Source, r.DryRun, r.Status, r.Error = reportVersion, run.Source, run.DryRun, run.Status, run.Error
	if err != nil {
		r.Error = err.Error()
	}
	r.Read, r.New, r.Updated, r.Known = run.Fetched, run.Inserted, run.Updated, run.Duplicates
	r.NotKept, r.Changed = run.RejectedFor.Add(), run.ChangedFor.Add() // never null
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".report-*")
	if err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	_, err = f.Write(append(body, '\n'))
	if err = errors.Join(err, f.Chmod(0o600), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("--report: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
