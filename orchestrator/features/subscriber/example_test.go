package subscriber_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/features/subscriber"
)

// The feature is given to an engine; the receiver compares the signature of what comes with one
// of its own.
func Example() {
	secret := []byte("secret")
	f, err := subscriber.Feature(subscriber.Options{URL: "https://example.org/events", Source: "https://box.example.org", Secret: secret})
	fmt.Println(f.Name, err)
	fmt.Println(subscriber.Sign(secret, "msg_1", "1614265330", []byte(`{"id":"msg_1"}`)))
	// Output:
	// subscriber <nil>
	// v1,AHG5f/FBphgpJogzuQTiMOSvxaRpkvp+qnP2JtdhSYw=
}
