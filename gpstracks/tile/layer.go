package tile

// trackKeys are the names of a track's properties, in the order of the layer's keys: its
// own ones, and those of which it shares the values with others.
var trackKeys = [...]string{"id", "length_m", "name", "recorded_on", "url", "activity", "source", "attribution"}

const ownKeys, sharedKeys = 5, 3

// layer is the layer of a tile while it is written.
type layer struct {
	features, values []byte
	count            int // of values
	scratch, tags    []byte
}

func (l *layer) reset() { l.features, l.values, l.count = l.features[:0], l.values[:0], 0 }

// layerOverhead bounds the bytes of a layer besides features and values.
const layerOverhead = 128

func (l *layer) size() int { return len(l.features) + len(l.values) + layerOverhead }

// append appends the layer to a tile, with its name and the names of its keys.
func (l *layer) append(dst []byte, name string, keys ...string) []byte {
	b := append(l.scratch[:0], tagVersion, 2, tagName, byte(len(name)))
	b = append(b, name...)
	head := len(b)
	for _, k := range keys {
		b = append(append(b, tagKey, byte(len(k))), k...)
	}
	end := len(b)
	b = appendVarint(append(b, tagExtent), Extent)
	l.scratch = b
	dst = appendVarint(append(dst, tagLayer), uint64(len(b)+len(l.features)+len(l.values)))
	dst = append(append(dst, b[:head]...), l.features...)
	dst = append(append(dst, b[head:end]...), l.values...)
	return append(dst, b[end:]...)
}
