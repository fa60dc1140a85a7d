package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
)

// The pages can be mounted at any prefix of another program.
func Example() {
	engine := &orchestrator.Engine{} // made by orchestrator.New
	pages, err := dashboard.Handler(dashboard.Options{
		Engine: engine, History: memstore.New(nil), Access: access.New(access.Options{AdminToken: "a secret of 128 bits"}), Links: []dashboard.Link{{Name: "Map", URL: "/map/"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/pipeline/", http.StripPrefix("/pipeline", pages))
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/pipeline/assets/dash.js", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/javascript; charset=utf-8
}
