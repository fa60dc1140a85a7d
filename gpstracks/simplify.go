package gpstracks

import "math"

// XY is a point in a plane, in any unit.
type XY struct{ X, Y float64 }

// Simplifier weighs the points of lines. It keeps its memory from line to line;
// the zero value is ready, and is not safe for concurrent use.
type Simplifier struct {
	stack   []span
	weights []float64
}

type span struct {
	from, to int
	most     float64
}

// spanMax bounds the work for a line: its points are weighed in spans of this
// many, whose ends always stay. A line that is made to be the worst case costs
// spanMax steps a point at most.
const spanMax = 1024

// Weights returns for each point the tolerance at which Douglas and Peucker's
// algorithm leaves it out, in the unit of the line: the points of a line that is
// simplified to a tolerance are those of a greater weight. So one pass serves
// every zoom. The ends weigh +Inf. The result is valid until the next call.
func (s *Simplifier) Weights(line []XY) []float64 {
	s.weights = append(s.weights[:0], make([]float64, len(line))...)
	if len(line) == 0 {
		return s.weights
	}
	s.weights[0], s.weights[len(line)-1] = math.Inf(1), math.Inf(1)
	for from := 0; from < len(line)-1; from += spanMax {
		to := min(from+spanMax, len(line)-1)
		s.weights[to] = math.Inf(1)
		s.weigh(line, span{from, to, math.Inf(1)})
	}
	return s.weights
}

func (s *Simplifier) weigh(line []XY, whole span) {
	s.stack = append(s.stack[:0], whole)
	for len(s.stack) > 0 {
		top := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		if top.to-top.from < 2 {
			continue
		}
		at, d2 := farthest(line, top)
		weight := min(math.Sqrt(d2), top.most)
		s.weights[at] = weight
		s.stack = append(s.stack, span{top.from, at, weight}, span{at, top.to, weight})
	}
}

// farthest finds the point of a span that is farthest from the segment between
// its ends, and the square of its distance.
func farthest(line []XY, s span) (at int, d2 float64) {
	a, b := line[s.from], line[s.to]
	dx, dy := b.X-a.X, b.Y-a.Y
	length2 := float64(dx*dx) + float64(dy*dy)
	inverse := 0.0
	if length2 > 0 {
		inverse = 1 / length2
	}
	at, d2 = s.from+1, -1
	for i, p := range line[s.from+1 : s.to] {
		px, py := p.X-a.X, p.Y-a.Y
		t := (float64(px*dx) + float64(py*dy)) * inverse
		if t < 0 {
			t = 0
		} else if t > 1 {
			t = 1
		}
		ex, ey := px-float64(t*dx), py-float64(t*dy)
		if d := float64(ex*ex) + float64(ey*ey); d > d2 {
			at, d2 = s.from+1+i, d
		}
	}
	return at, d2
}
