package commitprobe_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/signalbox-dev/signalbox/adapters/commitprobe"
)

// A deployment says which commit it runs in a field of a JSON object.
func Example() {
	deployed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"build": {"commit": "aaa1111222233334444555566667777888899990"}}`)
	}))
	defer deployed.Close()
	commit, err := commitprobe.New(nil).Commit(context.Background(), deployed.URL+"/version#build.commit")
	fmt.Println(commit, err)
	// Output: aaa1111222233334444555566667777888899990 <nil>
}
