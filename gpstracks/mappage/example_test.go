package mappage_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/signalbox-dev/signalbox/gpstracks/mappage"
)

// A map of the tracks is a handler below a path.
func Example() {
	base, err := mappage.ParseBase("https://tiles.example.org/{z}/{x}/{y}.png", "© nobody")
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(mappage.Handler(mappage.Options{Prefix: "/map/", Bases: []mappage.Base{base}}))
	defer server.Close()
	answer, err := http.Get(server.URL + "/map/")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status, answer.Header.Get("Content-Type"))
	// Output:
	// 200 OK text/html; charset=utf-8
}
