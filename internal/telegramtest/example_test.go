package telegramtest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/signalbox-dev/signalbox/internal/telegramtest"
)

func Example() {
	api := telegramtest.New("42:token")
	srv := httptest.NewServer(api)
	defer srv.Close()
	api.Fail(telegramtest.TooMany)
	for range 2 {
		resp, err := http.PostForm(srv.URL+"/bot42:token/sendMessage", url.Values{"chat_id": {"7"}, "text": {"hello"}})
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = resp.Body.Close()
		fmt.Println(resp.StatusCode)
	}
	fmt.Println(len(api.Messages()))
	// Output:
	// 429
	// 200
	// 1
}
