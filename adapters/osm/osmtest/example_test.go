package osmtest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/osm/osmtest"
)

func Example() {
	at := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
	api := osmtest.New(osmtest.Options{PageSize: 2}, osmtest.Trace{ID: 7, User: "ada", Name: "walk.gpx", Visibility: osmtest.Identifiable, Segments: [][]osmtest.Point{{
		{Lon: 7.9, Lat: 46.5, At: at}, {Lon: 7.9, Lat: 46.6, At: at.Add(time.Minute)}, {Lon: 7.9, Lat: 46.7, At: at.Add(time.Hour)},
	}}})
	server := httptest.NewServer(api)
	defer server.Close()
	api.Fail(osmtest.None, osmtest.Unavailable)
	for range 2 {
		r, err := http.NewRequest(http.MethodGet, server.URL+osmtest.Path+"?bbox=7.8,46.5,8,46.8", http.NoBody)
		if err != nil {
			fmt.Println(err)
			return
		}
		r.Header.Set("User-Agent", "example/1.0")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		fmt.Println(answer.StatusCode, strings.Count(string(body), "<trkpt"), strings.Contains(answer.Header.Get("Link"), "cursor=row-2"))
	}
	// Output:
	// 200 2 true
	// 503 0 false
}
