package subscriber_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/features/subscriber"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

// The feature is given to an engine; the receiver compares the signature of what comes with one
// of its own.
func Example() {
	key := "secret"
	f, err := subscriber.Feature(subscriber.Options{URL: secret.New("https://example.org/events"), Source: "https://box.example.org", Secret: secret.New(key)})
	fmt.Println(f.Name, err)
	fmt.Println(subscriber.Sign([]byte(key), "msg_1", "1614265330", []byte(`{"id":"msg_1"}`)))
	// Output:
	// subscriber <nil>
	// v1,AHG5f/FBphgpJogzuQTiMOSvxaRpkvp+qnP2JtdhSYw=
}
