package egress_test

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/signalbox-dev/signalbox/adapters/egress"
)

func Example() {
	rules, err := egress.Parse("packages", "*.internal.example.org:8443")
	if err != nil {
		fmt.Println(err)
		return
	}
	proxy, err := egress.Listen(rules, egress.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer proxy.Close()
	at, _ := url.Parse(proxy.URL()) // in HTTPS_PROXY of the execution
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(at)}}
	_, err = client.Get("https://evil.example.org/")
	fmt.Println(err)
	fmt.Println(proxy.Refused()[0].Host)
	// Output:
	// Get "https://evil.example.org/": Forbidden
	// evil.example.org:443
}
