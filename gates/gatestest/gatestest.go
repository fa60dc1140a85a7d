// Package gatestest runs gate cases of package fixture as Go tests.
package gatestest

import (
	"io/fs"
	"testing"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/fixture"
)

// Run runs every case of the matching files as a subtest.
func Run(t *testing.T, r *gates.Registry, fsys fs.FS, pattern string) {
	t.Helper()
	cases, err := fixture.Read(fsys, pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Check+"/"+c.Name, func(t *testing.T) {
			if v, err := c.Run(t.Context(), r); err != nil {
				t.Errorf("%v\n%v", err, v)
			}
		})
	}
}
