package signature_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

// A webhook is trusted once its raw body has the signature of one of the sender's secrets.
func Example() {
	body, mac := []byte(`{"action": "opened"}`), hmac.New(sha256.New, []byte("the-new-secret"))
	mac.Write(body)
	header := http.Header{"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}}

	host := signature.Scheme{In: []signature.Place{{Header: "X-Hub-Signature-256", Prefix: "sha256="}}}
	for _, secrets := range []signature.Secrets{signature.Of("the-old-secret", "the-new-secret"), signature.Of("another")} {
		check, err := host.Check(header.Get, secrets, false, time.Now())
		if err != nil {
			fmt.Println(err)
			return
		}
		_, _ = check.Write(body) // as it is read
		fmt.Println(check.Passed())
	}
	// Output:
	// true
	// false
}
