package forgetest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
)

func Example() {
	for path, host := range map[string]*forgetest.Server{
		"/user":                    forgetest.NewGitHub(forgetest.Options{}),
		forgetest.Prefix + "/user": forgetest.NewGitea(forgetest.Options{}),
	} {
		srv := httptest.NewServer(host)
		host.Fail(fakehttp.ErrorBefore)
		for range 2 {
			resp, err := http.Get(srv.URL + path)
			if err != nil {
				fmt.Println(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			fmt.Println(resp.StatusCode)
		}
		srv.Close()
		host.Close()
	}
	// Output:
	// 500
	// 200
	// 500
	// 200
}
