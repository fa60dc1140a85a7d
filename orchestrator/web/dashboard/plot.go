package dashboard

// Sizes of a plot, in units of its drawing.
const (
	plotWidth  = 1080
	plotSmall  = 360 // fits into a telephone, at the size of its letters
	plotHeight = 220
	plotLeft   = 52 // for the amounts
	plotRight  = 16 // for half of the last column
	plotBottom = 24 // for the names of columns
	plotTop    = 10
)

// plot is a chart of bars, made of one piece for each class.
type plot struct {
	ID            string // of the table with the same figures; its heading has it with -h
	Width, Height int
	Left, Base    int
	Bars          []bar
	Ticks         []tick // amounts, at the left
	Names         []tick // of columns
	Legend        []legend
}

type bar struct {
	X, Y, W, H float64
	Class      int
	Title      string
}

type tick struct {
	At   float64
	Text string
}

type legend struct {
	Class int
	Name  string
}

// pile holds the parts of a bar, by class, from the base up.
type pile struct {
	Name  string
	Parts []int64
}

// drawBars makes a plot of columns, the last one at the right. Amounts are shown in the words of say, and the scale ends at
// an even number of units, at least one.
func drawBars(id string, width int, columns []pile, names []legend, unit int64, say func(int64) string) plot {
	p := plot{ID: id, Width: width, Height: plotHeight, Left: plotLeft, Base: plotHeight - plotBottom, Legend: names}
	highest := int64(0)
	for _, c := range columns {
		sum := int64(0)
		for _, n := range c.Parts {
			sum += n
		}
		highest = max(highest, sum)
	}
	top := nice(highest, unit)
	y := func(amount int64) float64 {
		return float64(p.Base) - float64(amount)/float64(top)*float64(p.Base-plotTop)
	}
	for n := range int64(3) {
		p.Ticks = append(p.Ticks, tick{y(top / 2 * n), say(top / 2 * n)})
	}
	step := float64(width-plotLeft-plotRight) / float64(len(columns))
	shown := 4 + width/300
	every := max(1, (len(columns)+shown-1)/shown)
	for i, c := range columns {
		x, sum := plotLeft+float64(i)*step, int64(0)
		for class, n := range c.Parts {
			if n == 0 {
				continue
			}
			name := ""
			for _, l := range names {
				if l.Class == class {
					name = l.Name
				}
			}
			p.Bars = append(p.Bars, bar{
				X: x + step*0.12, Y: y(sum + n), W: step * 0.76, H: y(sum) - y(sum+n), Class: class,
				Title: c.Name + ", " + name + ": " + say(n),
			})
			sum += n
		}
		if (len(columns)-1-i)%every == 0 {
			p.Names = append(p.Names, tick{x + step/2, c.Name})
		}
	}
	return p
}

// nice is the smallest even amount of one or two digits of a unit that is not below n; at least the unit.
func nice(n, unit int64) int64 {
	for ; ; unit *= 10 {
		for _, m := range []int64{1, 2, 4, 6, 8} {
			if m*unit >= n {
				return m * unit
			}
		}
	}
}
