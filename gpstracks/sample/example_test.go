package sample_test

import (
	"fmt"
	"reflect"

	"github.com/signalbox-dev/signalbox/gpstracks/sample"
)

// Equal seeds make equal tracks, so that a benchmark can be repeated.
func Example() {
	tracks := sample.Tracks(3, 1)
	fmt.Println(len(tracks), reflect.DeepEqual(tracks, sample.Tracks(3, 1)), reflect.DeepEqual(tracks, sample.Tracks(3, 2)))
	// Output:
	// 3 true false
}
