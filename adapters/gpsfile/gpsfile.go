// Package gpsfile reads the files that configure the collector of tracks: sources and
// regions from YAML, licence records from the front matter of Markdown files.
// Errors name the file, the line and the field.
package gpsfile

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/internal/yamlplace"
)

// builtIn are the files of this module.
//
//go:embed gps_sources.yaml gps_regions.yaml
var builtIn embed.FS

// Paths name files of one's own. An empty one stands for the file that is built in.
type Paths struct {
	Sources  string `env:"GPS_SOURCES" doc:"own gps_sources.yaml; unset: what is built in"`
	Regions  string `env:"GPS_REGIONS" doc:"own gps_regions.yaml, for the collector; unset: what is built in"`
	Licences string `env:"GPS_LICENCES" doc:"own folder of licence records; unset: what is built in"`
}

// Load reads the sources, the regions and the licence records, which come with every error: no mistake
// elsewhere keeps a licence in force that was taken back. A record that cannot be read is no error here: its source is refused.
func Load(p Paths) (c collect.Config, l collect.Licences, err error) {
	records, err := fs.Sub(gpstracks.Licences, "licences")
	if p.Licences != "" {
		records = os.DirFS(p.Licences)
		if s, none := os.Stat(p.Licences); none != nil || !s.IsDir() {
			err = &yamlplace.Error{File: p.Licences, Err: errors.New("is no directory of licence records")}
		}
	}
	name, body, wrong := file(p.Sources, "gps_sources.yaml")
	if wrong == nil {
		c.Sources, wrong = sources(name, body)
	}
	err = errors.Join(err, wrong)
	if name, body, wrong = file(p.Regions, "gps_regions.yaml"); wrong == nil {
		c.Regions, wrong = regions(name, body)
	}
	return c, licences(records), errors.Join(err, wrong)
}

func file(path, otherwise string) (name string, body []byte, err error) {
	if path == "" {
		body, err = builtIn.ReadFile(otherwise)
		return otherwise, body, err
	}
	if body, err = os.ReadFile(path); err != nil {
		err = &yamlplace.Error{File: path, Err: errors.New("cannot be read: " + cause(err).Error())}
	}
	return path, body, err
}

// cause is an error without the path, which is named already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

type source struct {
	Name      string        `yaml:"name"`
	Title     string        `yaml:"title"`
	Enabled   bool          `yaml:"enabled"`
	Kind      string        `yaml:"kind"`
	URL       string        `yaml:"url"`
	MaxArea   float64       `yaml:"max_area"`
	PageSize  int           `yaml:"page_size"`
	MaxPages  int           `yaml:"max_pages"`
	Pause     time.Duration `yaml:"pause"`
	KeepURL   bool          `yaml:"keep_url"`
	KeepNames *bool         `yaml:"keep_names"` // unset: true
	NeedTimes bool          `yaml:"need_times"`
	KeepDays  int           `yaml:"keep_days"`
}

// sources reads the content of a file; name is for errors.
func sources(name string, body []byte) ([]collect.Source, error) {
	var f struct {
		Sources []source `yaml:"sources"`
	}
	tree, err := decode(name, body, &f)
	if err != nil {
		return nil, err
	}
	out := make([]collect.Source, 0, len(f.Sources))
	for _, s := range f.Sources {
		out = append(out, collect.Source{
			Name: s.Name, Title: s.Title, Enabled: s.Enabled, Kind: collect.Kind(s.Kind), URL: s.URL, MaxArea: s.MaxArea,
			PageSize: s.PageSize,
			MaxPages: s.MaxPages, Pause: s.Pause, KeepURL: s.KeepURL, NeedTimes: s.NeedTimes,
			DropNames: s.KeepNames != nil && !*s.KeepNames,
			KeepFor:   time.Duration(s.KeepDays) * 24 * time.Hour,
		})
	}
	return out, placed(name, tree, len(out), "sources", collect.Config{Sources: out}.Check())
}

type region struct {
	Name    string `yaml:"name"`
	Title   string `yaml:"title"`
	Enabled bool   `yaml:"enabled"`
	Areas   []struct {
		Name string    `yaml:"name"`
		BBox []float64 `yaml:"bbox"`
	} `yaml:"areas"`
	Hidden []struct {
		Name   string     `yaml:"name"`
		At     [2]float64 `yaml:"at"` // longitude and latitude
		Radius float64    `yaml:"radius"`
	} `yaml:"hidden"`
}

// regions reads the content of a file; name is for errors.
func regions(name string, body []byte) ([]collect.Region, error) {
	var f struct {
		Regions []region `yaml:"regions"`
	}
	tree, err := decode(name, body, &f)
	if err != nil {
		return nil, err
	}
	out := make([]collect.Region, 0, len(f.Regions))
	for i, r := range f.Regions {
		own := collect.Region{Name: r.Name, Title: r.Title, Enabled: r.Enabled}
		for _, a := range r.Areas {
			if len(a.BBox) != 4 {
				err := fmt.Errorf("regions, entry %d: areas has one, %s, whose bbox has %d numbers: write it as [west, south, east, "+
					"north] in degrees", i+1, a.Name, len(a.BBox))
				return nil, &yamlplace.Error{File: name, Line: yamlplace.Line(tree, "regions", i, "areas"), Err: err}
			}
			own.Areas = append(own.Areas, collect.Area{Name: a.Name, Bounds: orb.Bound{Min: orb.Point{a.BBox[0], a.BBox[1]},
				Max: orb.Point{a.BBox[2], a.BBox[3]}}})
		}
		for _, z := range r.Hidden {
			own.Hidden = append(own.Hidden, gpstracks.Zone{Name: r.Name + "/" + z.Name, Center: z.At, RadiusM: z.Radius})
		}
		out = append(out, own)
	}
	return out, placed(name, tree, len(out), "regions", collect.Config{Regions: out}.Check())
}

// decode reads YAML that has no fields but those of into.
func decode(name string, body []byte, into any) (*ast.File, error) {
	tree, err := parser.ParseBytes(body, 0)
	if err == nil {
		err = yaml.UnmarshalWithOptions(body, into, yaml.Strict())
	}
	if err != nil {
		return nil, &yamlplace.Error{File: name, Line: yamlplace.Of(err), Err: errors.New(yamlplace.Short(err))}
	}
	return tree, nil
}

// placed gives the error of a check its place in the file.
func placed(name string, tree *ast.File, entries int, list string, err error) error {
	var wrong *collect.FieldError
	switch {
	case entries == 0:
		return &yamlplace.Error{File: name, Line: 0, Err: fmt.Errorf("%s: there is none", list)}
	case errors.As(err, &wrong):
		return &yamlplace.Error{File: name, Line: yamlplace.Line(tree, list, wrong.Entry, wrong.Field), Err: err}
	}
	return err
}
