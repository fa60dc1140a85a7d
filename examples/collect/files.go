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
// below it that end in .gpx or .gpx.gz. passed is how many others there are of each
// ending. Links are not followed.
func gather(paths []string) (out []collect.File, passed map[string]int, err error) {
	passed = map[string]int{}
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
			case d.Type().IsRegular() && isGPX(d.Name()):
				add(path)
			default:
				passed[strings.ToLower(filepath.Ext(strings.TrimSuffix(d.Name(), ".gz")))]++
			}
			return err
		})
		if err != nil {
			return nil, nil, fmt.Errorf("--file: %w", err)
		}
	}
	if len(out) == 0 {
		return nil, nil, fmt.Errorf("--file: %s holds no file that ends in .gpx or .gpx.gz", strings.Join(paths, ", "))
	}
	return out, passed, nil
}

func isGPX(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, ".gpx") || strings.HasSuffix(name, ".gpx.gz")
}
