package trackhttp

import (
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// Numbers of a list.
const (
	defaultLimit = 500
	maxLimit     = 5000
	defaultZoom  = 14
	maxTurns     = 720 // degrees of longitude: maps that show the world more than once count on
)

// badQuery is a parameter that cannot be used: its text is for the client.
type badQuery string

func (b badQuery) Error() string { return string(b) }

// query is a request's query, decoded.
type query struct {
	filter  gpstracks.Filter
	none    bool // a filter without any value: nothing passes
	zoom    float64
	at      orb.Point // what passes here is wanted
	profile bool      // elevation profiles are wanted
	full    bool      // lines as they are, not the parts in the view
}

// parseQuery reads the parameters of these names, and passes over others: gateways and map libraries add keys and
// versions to an address.
func (h *Handler) parseQuery(raw string, names ...string) (query, error) {
	q := query{zoom: defaultZoom, filter: gpstracks.Filter{Without: h.withheld()}}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, badQuery("The query is not a valid one.")
	}
	maps.DeleteFunc(values, func(name string, _ []string) bool { return !slices.Contains(names, name) })
	for name, given := range values {
		if name != "activity" && name != "source" && len(given) > 1 {
			return q, badQuery("The parameter " + name + " is given more than once.")
		}
	}
	if err := h.parseWords(&q, values); err != nil {
		return q, err
	}
	return q, parseNumbers(&q, values)
}

// checkSpelling refuses names that are known ones but for a letter or capitals, as somebody has written them by hand.
func checkSpelling(values url.Values, known []string) error {
	for name := range values {
		for _, k := range known {
			if !slices.Contains(known, name) && isMisspelt(strings.ToLower(name), k) {
				return badQuery("A parameter is unknown: is " + k + " meant?")
			}
		}
	}
	return nil
}

// isMisspelt reports whether names differ by one letter at most. Those of one or two letters are no misspelling of at:
// t, v and _t are versions.
func isMisspelt(name, known string) bool {
	short, long := name, known
	if len(short) > len(long) {
		short, long = long, short
	}
	if len(name) < 3 || len(long)-len(short) > 1 {
		return false
	}
	i := 0
	for i < len(short) && short[i] == long[i] {
		i++
	}
	return strings.HasSuffix(short[i:], long[min(i+1, len(long)):]) // what follows the letter
}

func (h *Handler) parseWords(q *query, values url.Values) error {
	for _, name := range split(values, "activity") {
		a := gpstracks.Activity(name)
		if !a.Valid() {
			return badQuery("An activity is unknown. Known are: " + join(gpstracks.Activities()) + ".")
		}
		q.filter.Activities = append(q.filter.Activities, a)
	}
	for _, name := range split(values, "source") {
		if !gpstracks.IsSourceName(name) || len(*h.sources.Load()) > 0 && !slices.ContainsFunc(*h.sources.Load(),
			func(s Source) bool { return s.Name == name }) {
			return badQuery("A source is unknown. Health names those that there are.")
		}
		q.filter.Sources = append(q.filter.Sources, name)
	}
	q.none = values.Has("activity") && len(q.filter.Activities) == 0 || values.Has("source") && len(q.filter.Sources) == 0
	return nil
}

// split returns the values of a parameter, which can be repeated and hold
// commas, in order and each once.
func split(values url.Values, name string) []string {
	var out []string
	for _, v := range values[name] {
		for part := range strings.SplitSeq(v, ",") {
			if part != "" {
				out = append(out, part)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func join(all []gpstracks.Activity) string {
	words := make([]string, len(all))
	for i, a := range all {
		words[i] = string(a)
	}
	return strings.Join(words, ", ")
}

func parseNumbers(q *query, values url.Values) error {
	for name, to := range map[string]*bool{"profile": &q.profile, "full": &q.full} {
		given := values.Get(name)
		if *to = given == "true"; !*to && given != "" && given != "false" {
			return badQuery("The parameter " + name + " is neither true nor false.")
		}
	}
	if v := values.Get("zoom"); v != "" {
		z, ok := number(v)
		if !ok || z < 0 || z > 24 {
			return badQuery("The parameter zoom is not a number from 0 to 24.")
		}
		q.zoom = z
	}
	q.filter.Limit = defaultLimit
	if v := values.Get("limit"); v != "" {
		n, ok := whole(v, 4)
		if !ok || n < 1 || n > maxLimit {
			return badQuery("The parameter limit is not a whole number from 1 to 5000.")
		}
		q.filter.Limit = n
	}
	if v := values.Get("cursor"); v != "" {
		after, ok := parseCursor(v)
		if !ok {
			return badQuery("The parameter cursor is not one that a list gave as next.")
		}
		q.filter.After = after
	}
	return nil
}

// formatCursor is the text of a cursor in answers.
func formatCursor(c gpstracks.Cursor) string {
	return strconv.FormatInt(c.Metres, 10) + "-" + strconv.FormatInt(c.ID, 10)
}

func parseCursor(s string) (gpstracks.Cursor, bool) {
	metres, id, ok := strings.Cut(s, "-")
	m, ok1 := whole(metres, 15)
	n, ok2 := whole(id, 18)
	return gpstracks.Cursor{Metres: int64(m), ID: int64(n)}, ok && ok1 && ok2 && n > 0
}

// whole reads a number of at most n digits, written as a program writes it.
func whole(s string, n int) (int, bool) {
	if s == "" || len(s) > n || s[0] == '0' && len(s) > 1 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.Atoi(s)
	return v, err == nil
}

// number reads a decimal number; hexadecimal, NaN and infinity are none.
func number(s string) (float64, bool) {
	if len(s) > 32 || strings.Trim(s, "+-.0123456789eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && !math.IsInf(v, 0)
}

// parseBox reads minLon,minLat,maxLon,maxLat. Longitudes may go on beyond 180
// degrees, and a box may cross the antimeridian (then minLon can be the greater
// one): the answer is one box or two, from -180 to 180.
func parseBox(s string) ([]orb.Bound, error) {
	if s == "" {
		return nil, badQuery("The parameter bbox is missing: minLon,minLat,maxLon,maxLat.")
	}
	parts := strings.Split(s, ",")
	var v [4]float64
	for i := range v {
		ok := len(parts) == len(v)
		if ok {
			v[i], ok = number(parts[i])
		}
		if !ok {
			return nil, badQuery("The parameter bbox is not four numbers: minLon,minLat,maxLon,maxLat.")
		}
	}
	west, south, east, north := v[0], v[1], v[2], v[3]
	switch {
	case south < -90 || north > 90 || south > north:
		return nil, badQuery("The latitudes of bbox are not from -90 to 90, the southern one first.")
	case math.Abs(west) > maxTurns || math.Abs(east) > maxTurns:
		return nil, badQuery("The longitudes of bbox are more than two turns from Greenwich.")
	case west > east:
		east += 360
	}
	if west > east {
		return nil, badQuery("The longitudes of bbox are not west before east.")
	}
	if east-west >= 360 {
		return []orb.Bound{box(-180, south, 180, north)}, nil
	}
	turns := 360 * math.Floor((west+180)/360)
	west, east = west-turns, east-turns
	if east <= 180 {
		return []orb.Bound{box(west, south, east, north)}, nil
	}
	return []orb.Bound{box(west, south, 180, north), box(-180, south, east-360, north)}, nil
}

// parsePoint reads lon,lat.
func parsePoint(s string) (orb.Point, error) {
	boxes, err := parseBox(s + "," + s)
	if err != nil {
		return orb.Point{}, badQuery("The parameter at is not a place: lon,lat.")
	}
	return boxes[0].Min, nil
}

func box(west, south, east, north float64) orb.Bound {
	return orb.Bound{Min: orb.Point{west, south}, Max: orb.Point{east, north}}
}

// parseTile reads z/x/y.
func parseTile(path string) (tile.ID, bool) {
	parts := strings.Split(path, "/")
	if len(parts) != 3 {
		return tile.ID{}, false
	}
	z, ok1 := whole(parts[0], 2)
	x, ok2 := whole(parts[1], 7)
	y, ok3 := whole(parts[2], 7)
	id := tile.ID{Z: z, X: x, Y: y}
	return id, ok1 && ok2 && ok3 && id.Valid()
}
