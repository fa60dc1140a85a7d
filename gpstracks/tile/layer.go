package tile

// ownKeys and sharedKeys are the names of the properties, in the order of the
// layer's keys.
var (
	ownKeys    = [...]string{"id", "length_m", "name", "recorded_on", "url"}
	sharedKeys = [...]string{"activity", "source", "attribution"}
)

// layer is the layer of a tile while it is written.
type layer struct {
	features, values []byte
	count            int // of values
	scratch, tags    []byte
}

func (l *layer) reset() { l.features, l.values, l.count = l.features[:0], l.values[:0], 0 }

// layerOverhead is what a layer takes besides features and values, at most.
const layerOverhead = 128

func (l *layer) size() int { return len(l.features) + len(l.values) + layerOverhead }

// append appends the layer as a tile.
func (l *layer) append(dst []byte) []byte {
	b := append(l.scratch[:0], tagVersion, 2, tagName, byte(len(Layer)))
	b = append(b, Layer...)
	head := len(b)
	for _, keys := range [...][]string{ownKeys[:], sharedKeys[:]} {
		for _, k := range keys {
			b = append(append(b, tagKey, byte(len(k))), k...)
		}
	}
	keys := len(b)
	b = appendVarint(append(b, tagExtent), Extent)
	l.scratch = b
	dst = appendVarint(append(dst, tagLayer), uint64(len(b)+len(l.features)+len(l.values)))
	dst = append(append(dst, b[:head]...), l.features...)
	dst = append(append(dst, b[head:keys]...), l.values...)
	return append(dst, b[keys:]...)
}
