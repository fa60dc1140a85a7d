package gpsfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/internal/yamlplace"
)

// record is the front matter of a licence record.
type record struct {
	Source      string `yaml:"source"`
	Status      string `yaml:"status"`
	Licence     string `yaml:"licence"`
	Attribution string `yaml:"attribution"`
	DecidedOn   string `yaml:"decided_on"`
	URL         string `yaml:"url"`
	Download    bool   `yaml:"download"`
}

// licences reads the records of a directory: its files that end in .md. One that
// cannot be read says so in its Err.
func licences(dir fs.FS) collect.Licences {
	names, err := fs.Glob(dir, "*.md")
	if err != nil { // the pattern is good
		return nil
	}
	var out collect.Licences
	for _, name := range names {
		if strings.EqualFold(name, "README.md") {
			continue
		}
		l, err := readRecord(dir, name)
		l.Record, l.Err = path.Base(name), err
		out = append(out, l)
	}
	return out
}

func readRecord(dir fs.FS, name string) (l collect.Licence, err error) {
	body, err := fs.ReadFile(dir, name)
	if err != nil {
		return l, cause(err)
	}
	body = bytes.ReplaceAll(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n"))
	rest, begins := bytes.CutPrefix(body, []byte("---\n"))
	front, _, ends := bytes.Cut(rest, []byte("\n---"))
	if !begins || !ends {
		return l, errors.New("it does not begin with front matter between two lines of ---")
	}
	var r record
	if err := yaml.UnmarshalWithOptions(front, &r, yaml.Strict()); err != nil {
		return l, fmt.Errorf("line %d: %s", yamlplace.Of(err)+1, yamlplace.Short(err))
	}
	l = collect.Licence{Source: r.Source, Status: r.Status, Licence: r.Licence, Attribution: r.Attribution, DecidedOn: r.DecidedOn,
		URL: r.URL, Download: r.Download}
	return l, r.check()
}

func (r record) check() error {
	switch {
	case r.Source == "":
		return errors.New("source is missing")
	case !slices.Contains([]string{"proposed", "accepted", "rejected"}, r.Status):
		return fmt.Errorf("status is %q, want proposed, accepted or rejected", r.Status)
	case r.Status == "accepted" && r.Attribution == "":
		return errors.New("attribution is missing, and an accepted source needs one")
	}
	return nil
}
