package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/signalbox-dev/signalbox/gpstracks/web"
)

func Example() {
	mux := http.NewServeMux()
	mux.Handle("/map/gpstracks/", http.StripPrefix("/map/gpstracks/", web.Handler()))
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/map/gpstracks/gpstracks.js", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/javascript; charset=utf-8
}
