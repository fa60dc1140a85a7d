package tile

import "github.com/signalbox-dev/signalbox/gpstracks"

// Cover calls yield with tiles up to zoom, which is MaxLevel at most, in any order and some of them
// more than once: with every one in which an Encoder draws or counts the track, and some beside it.
func (p *Packer) Cover(t *gpstracks.Track, zoom int, yield func(ID)) {
	gpstracks.Walk(t.Lines, min(zoom, DensityZoom), func(x, y int64) {
		for z := min(zoom, DensityZoom); z >= 0; z, x, y = z-1, x>>1, y>>1 {
			yield(ID{z, int(x), int(y)})
		}
	})
	p.weigh(t.Lines)
	for level := min(zoom, MaxLevel); level >= 0; level-- {
		if _, shows := p.quantise(level); !shows {
			return
		}
		last := ID{-1, 0, 0}
		each := func(id ID) {
			if id != last {
				yield(id)
				last = id
			}
		}
		for i := 1; i < len(p.steps); i++ {
			if !p.steps[i].first {
				cover(level, p.steps[i-1], p.steps[i], each)
			}
		}
	}
}

// cover yields the tiles around a segment: those of its ends and of its halves, until these are
// short.
func cover(level int, a, b step, yield func(ID)) {
	w := boundsOf([]step{a, b})
	if w.MaxX-w.MinX > Extent/2 || w.MaxY-w.MinY > Extent/2 {
		half := step{x: int32((int64(a.x) + int64(b.x)) / 2), y: int32((int64(a.y) + int64(b.y)) / 2)}
		cover(level, a, half, yield)
		cover(level, half, b, yield)
		return
	}
	const around = Buffer + 1 // a half is rounded
	for x := max(0, (w.MinX-around)>>extentBits); x <= min(1<<level-1, (w.MaxX+around)>>extentBits); x++ {
		for y := max(0, (w.MinY-around)>>extentBits); y <= min(1<<level-1, (w.MaxY+around)>>extentBits); y++ {
			yield(ID{level, int(x), int(y)})
		}
	}
}

// extentBits is the binary logarithm of Extent.
const extentBits = 12
