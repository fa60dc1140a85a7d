package collect

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/paulmach/orb"
)

// smallest is the side of a box, in degrees, that is not quartered any more.
const smallest = 0.01

// split divides a box into a grid of boxes of at most area square degrees, from
// the south-west, row by row. An area that is not positive divides nothing.
func split(b orb.Bound, area float64) []orb.Bound {
	if !(area > 0) {
		return []orb.Bound{b}
	}
	width, height := b.Max[0]-b.Min[0], b.Max[1]-b.Min[1]
	side := math.Sqrt(area)
	columns := max(1, int(math.Ceil(width/side)))
	rows := max(1, int(math.Ceil(height/(area/(width/float64(columns))))))
	for width/float64(columns)*(height/float64(rows)) > area { // what rounding made too large
		rows++
	}
	out := make([]orb.Bound, 0, columns*rows)
	for row := range rows {
		for column := range columns {
			out = append(out, part(b, column, columns, row, rows))
		}
	}
	return out
}

// part is one box of a grid. Neighbours share their edges exactly.
func part(b orb.Bound, column, columns, row, rows int) orb.Bound {
	edge := func(axis, i, n int) float64 {
		if i == n {
			return b.Max[axis]
		}
		return b.Min[axis] + (b.Max[axis]-b.Min[axis])*float64(i)/float64(n)
	}
	return orb.Bound{
		Min: orb.Point{edge(0, column, columns), edge(1, row, rows)},
		Max: orb.Point{edge(0, column+1, columns), edge(1, row+1, rows)},
	}
}

// box is a box of the plan: a cell of an area's grid, or a quarter of a box.
type box struct {
	bounds orb.Bound
	path   string  // number of the cell, then the quarters, 0 to 3 each
	share  float64 // of the whole plan
	from   *place  // where its reading goes on; nil = at its first page
}

// place marks the page of a box to go on with: the one where the first track
// begins that is not kept yet.
type place struct {
	page string
	cut  bool // the page has others before it: the first of them may be the end of one that was kept whole
}

func (b box) quarters() []box {
	out := make([]box, 4)
	for i := range out {
		out[i] = box{bounds: part(b.bounds, i%2, 2, i/2, 2), path: b.path + strconv.Itoa(i), share: b.share / 4}
	}
	return out
}

func (b box) canBeQuartered() bool {
	return b.bounds.Max[0]-b.bounds.Min[0] > smallest && b.bounds.Max[1]-b.bounds.Min[1] > smallest
}

// plan is the boxes of a region, in the order in which they are requested.
type plan struct {
	boxes []box
	name  string // changes when the boxes do
}

func newPlan(r Region, area float64) plan {
	var p plan
	sum := sha256.New()
	for _, a := range r.Areas {
		for _, b := range split(a.Bounds, area) {
			p.boxes = append(p.boxes, box{bounds: b, path: strconv.Itoa(len(p.boxes)) + "."})
			fmt.Fprint(sum, b, ";")
		}
	}
	for i := range p.boxes {
		p.boxes[i].share = 1 / float64(len(p.boxes))
	}
	p.name = hex.EncodeToString(sum.Sum(nil)[:6])
	return p
}

// cursor is the place behind a box: "<plan>/<path of the last box that is done>".
func (p plan) cursor(done box) string { return p.name + "/" + done.path }

// inside is a place in a box: "<plan>/<path>@<+ or -><page>", + if the page's first
// track may be the end of one that was kept.
func (p plan) inside(b box, at place) string {
	sign := "-"
	if at.cut {
		sign = "+"
	}
	return p.cursor(b) + "@" + sign + at.page
}

// after returns the boxes that are left behind a cursor, and the share of the
// plan that is done. A cursor of another plan, or one that nobody gave, leaves
// all of them.
func (p plan) after(cursor string) (left []box, share float64) {
	name, path, ok := strings.Cut(cursor, "/")
	path, page, within := strings.Cut(path, "@")
	cell, quarters, ok2 := strings.Cut(path, ".")
	n, err := strconv.Atoi(cell)
	if !ok || !ok2 || name != p.name || err != nil || n < 0 || n >= len(p.boxes) || strings.Trim(quarters, "0123") != "" {
		return p.boxes, 0
	}
	share = float64(n) / float64(len(p.boxes))
	at := p.boxes[n]
	var behind [][]box // of each depth, those after the one that is done
	for _, q := range quarters {
		all, i := at.quarters(), int(q-'0')
		share += float64(i) * all[0].share
		behind = append(behind, all[i+1:])
		at = all[i]
	}
	if within && page != "" {
		at.from = &place{page[1:], page[0] == '+'}
		left = append(left, at)
	} else {
		share += at.share
	}
	for i := len(behind) - 1; i >= 0; i-- {
		left = append(left, behind[i]...)
	}
	return append(left, p.boxes[n+1:]...), share
}
