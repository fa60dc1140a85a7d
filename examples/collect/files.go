package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/gpstracks/collect"
)

// gather finds the files that paths name: a file, or those of a folder and what is
// below it that end in .gpx or .gpx.gz. Links are not followed.
func gather(paths []string) ([]collect.File, error) {
	var out []collect.File
	add := func(path string) {
		out = append(out, collect.File{Name: path, Open: func() (io.ReadCloser, error) { return os.Open(path) }})
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("--file: %w", err)
		}
		if !info.IsDir() {
			add(path)
			continue
		}
		err = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && isGPX(d.Name()) {
				add(path)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("--file: %w", err)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("--file: %s holds no file that ends in .gpx or .gpx.gz", strings.Join(paths, ", "))
	}
	return out, nil
}

func isGPX(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, ".gpx") || strings.HasSuffix(name, ".gpx.gz")
}
