package giteatest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/signalbox-dev/signalbox/internal/giteatest"
)

func Example() {
	host := giteatest.New(giteatest.Options{})
	defer host.Close()
	srv := httptest.NewServer(host)
	defer srv.Close()
	host.Fail(giteatest.ErrorBefore)
	for range 2 {
		resp, err := http.Get(srv.URL + giteatest.Prefix + "/user")
		if err != nil {
			fmt.Println(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		fmt.Println(resp.StatusCode)
	}
	// Output:
	// 500
	// 200
}
