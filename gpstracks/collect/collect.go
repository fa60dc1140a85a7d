// Package collect brings public tracks into a store: from sources that are read
// region by region, and from files. What may be requested, where, and under which
// licence is data; see Source, Region and Licences. A source without an accepted
// licence record is not requested at all.
//
// Each run leaves one row in pipeline_runs, whatever its end; one that was broken
// off is taken up where it stood.
package collect

import (
	"context"
	"fmt"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// Kind defines how a source is read.
type Kind string

// The kinds of sources.
const (
	OSM         Kind = "osm"         // the trackpoints API of OpenStreetMap: anonymous points of a box
	Files       Kind = "files"       // GPX files that the operator names
	Placeholder Kind = "placeholder" // nothing reads it yet
)

// Source is a place that tracks come from.
type Source struct {
	Name      string // as in gpstracks.IsSourceName
	Title     string
	Enabled   bool
	Kind      Kind
	URL       string        // address of the API
	MaxArea   float64       // square degrees of one request
	PageSize  int           // points that a full page has at least
	MaxPages  int           // a box with more pages is quartered
	Pause     time.Duration // between two requests
	DropNames bool          // tracks have no names
	KeepURL   bool          // tracks keep the address that they have at the source: it may name a person
	NeedTimes bool          // anonymous points without times are a cloud in no order, and never a line
	KeepFor   time.Duration // tracks that were not seen for so long are removed by a sweep; 0 = never
}

// Region is a set of areas.
type Region struct {
	Name    string
	Title   string
	Enabled bool
	Areas   []Area
	Hidden  []gpstracks.Zone // nothing in them is shown, whether the region is on or off; HideZones
}

// Area is a box in degrees. It does not cross the antimeridian.
type Area struct {
	Name   string
	Bounds orb.Bound
}

// Config lists the sources and regions.
type Config struct {
	Sources []Source
	Regions []Region
}

// Source finds a source by its name.
func (c Config) Source(name string) (Source, bool) {
	for _, s := range c.Sources {
		if s.Name == name {
			return s, true
		}
	}
	return Source{}, false
}

// Region finds a region by its name.
func (c Config) Region(name string) (Region, bool) {
	for _, r := range c.Regions {
		if r.Name == name {
			return r, true
		}
	}
	return Region{}, false
}

// FieldError reports which field of a configuration cannot be used.
type FieldError struct {
	Entry  int    // of its list, from 0
	List   string // sources or regions
	Field  string
	Reason string
}

// Error names the list, the entry, the field and the reason.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s, entry %d: %s %s", e.List, e.Entry+1, e.Field, e.Reason)
}

// Check returns the first *FieldError of a configuration.
func (c Config) Check() error {
	seen := map[string]bool{}
	for i, s := range c.Sources {
		wrong := func(field, reason string) error { return &FieldError{i, "sources", field, reason} }
		switch {
		case !gpstracks.IsSourceName(s.Name):
			return wrong("name", "is not a name of a-z, 0-9, - and _")
		case seen[s.Name]:
			return wrong("name", "is used twice")
		case s.Kind != OSM && s.Kind != Files && s.Kind != Placeholder:
			return wrong("kind", "is none of osm, files and placeholder")
		case s.Kind == OSM && s.URL == "":
			return wrong("url", "is missing")
		case s.Kind == OSM && !(s.MaxArea >= 0.01 && s.MaxArea <= 10):
			return wrong("max_area", "is not from 0.01 to 10 square degrees")
		case s.Kind == OSM && (s.PageSize < 1 || s.MaxPages < 1):
			return wrong("page_size", "and max_pages must be at least 1")
		case s.Pause < 0 || s.KeepFor < 0:
			return wrong("pause", "and keep_days cannot be negative")
		}
		seen[s.Name] = true
	}
	clear(seen)
	for i, r := range c.Regions {
		wrong := func(field, reason string) error { return &FieldError{i, "regions", field, reason} }
		switch {
		case !gpstracks.IsSourceName(r.Name):
			return wrong("name", "is not a name of a-z, 0-9, - and _")
		case seen[r.Name]:
			return wrong("name", "is used twice")
		case len(r.Areas) == 0:
			return wrong("areas", "are missing")
		}
		area := 0.0
		for _, a := range r.Areas {
			area += (a.Bounds.Max[0] - a.Bounds.Min[0]) * (a.Bounds.Max[1] - a.Bounds.Min[1])
			if reason := wrongBounds(a.Bounds); reason != "" {
				return wrong("areas", "has one, "+a.Name+", whose bbox "+reason)
			}
		}
		if area > mostArea {
			return wrong("areas", fmt.Sprintf("have %.0f square degrees, and %d are the most that is asked for box by box", area, mostArea))
		}
		for _, z := range r.Hidden {
			if err := z.Check(); err != nil {
				return wrong("hidden", "has one, "+z.Name+", that cannot be used: "+err.Error())
			}
		}
		seen[r.Name] = true
	}
	return nil
}

// mostArea bounds a region, in square degrees: larger ones are for
// dumps, not for an API.
const mostArea = 1000

func wrongBounds(b orb.Bound) string {
	switch {
	case !(b.Min[0] >= -180 && b.Max[0] <= 180 && b.Min[1] >= -90 && b.Max[1] <= 90): // NaN too
		return "is not on earth: write it as [west, south, east, north] in degrees"
	case b.Min[0] >= b.Max[0] || b.Min[1] >= b.Max[1]:
		return "is not west before east and south before north; divide one that crosses the antimeridian"
	}
	return ""
}

// Page is a part of what a source has in a box.
type Page struct {
	Tracks   []gpx.Track
	Next     string // the query of the next page; empty at the end
	Bytes    int64  // that were read
	Requests int    // that were made, repeated ones included
}

// NoParserError is the feed of a Placeholder: it sends no request and returns an error.
type NoParserError struct{ Source string }

// Page returns the error that there is no parser.
func (n NoParserError) Page(context.Context, orb.Bound, string) (Page, error) {
	return Page{}, fmt.Errorf("source %s has a placeholder in place of a parser: nothing can be read from it, and nothing was asked for",
		n.Source)
}

// Feed reads pages of a source. A call that fails has been repeated as often as the
// source's rules allow. An error with a method TooMuch that reports true says
// that the box has to be smaller.
type Feed interface {
	// Page reads a page of a box: the first one, or the one of the query next.
	// The page comes with an error too, for its numbers.
	Page(ctx context.Context, box orb.Bound, next string) (Page, error)
}
