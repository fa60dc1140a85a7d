package tile

import (
	"cmp"
	"slices"
)

// important orders the longest track first, then the oldest.
func important(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.metres, a.metres), cmp.Compare(a.id, b.id), cmp.Compare(a.order, b.order))
}

// placed is the order of features in a tile, however they are spread over blocks.
func placed(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.id, b.id), cmp.Compare(a.order, b.order))
}

// atOnce is how many candidates are brought in order first, when the important ones are
// taken until a tile is full: there may be many more.
const atOnce = 2048

// arrange is given candidates of which the first n are the important ones, in order. It
// brings as many more in order, and returns how many are.
func arrange(all []candidate, n int) int {
	end := min(max(2*n, atOnce), len(all))
	lead(all[n:], end-n)
	slices.SortFunc(all[n:end], important)
	return end
}

// lead moves the n most important candidates to the front, in no order: what is on the
// wrong side of one of them is exchanged, and then only the part that holds the border
// is looked at again.
func lead(all []candidate, n int) {
	for n > 0 && n < len(all) {
		middle := all[len(all)/2]
		if a, b := all[0], all[len(all)-1]; important(a, b) < 0 == (important(middle, a) < 0) { // the median of the three
			middle = a
		} else if important(a, b) < 0 == (important(b, middle) < 0) {
			middle = b
		}
		i, j := 0, len(all)-1
		for i <= j {
			for important(all[i], middle) < 0 {
				i++
			}
			for important(middle, all[j]) < 0 {
				j--
			}
			if i <= j {
				all[i], all[j] = all[j], all[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j:
			all = all[:j+1]
		case n > i:
			all, n = all[i:], n-i
		default:
			return
		}
	}
}
