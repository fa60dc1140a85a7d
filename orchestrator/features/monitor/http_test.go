package monitor_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/features/monitor"
)

func TestHTTP(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/down":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/slow":
			<-r.Context().Done()
		}
	}))
	t.Cleanup(srv.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	probe := monitor.HTTP(&http.Client{Timeout: 200 * time.Millisecond})
	for address, want := range map[string]monitor.Look{
		srv.URL: monitor.Good, srv.URL + "/down": monitor.Bad, srv.URL + "/slow": monitor.Bad, gone.URL: monitor.Bad,
		"http://name.invalid/": monitor.Unknown, "http://%zz/": monitor.Unknown,
	} {
		look, detail := probe(t.Context(), address)
		require.Equal(t, want, look, "%s: %s", address, detail)
		require.NotEmpty(t, detail)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	look, _ := probe(ctx, srv.URL)
	require.Equal(t, monitor.Unknown, look)
}

func ExampleHTTP() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer srv.Close()
	look, detail := monitor.HTTP(nil)(context.Background(), srv.URL)
	fmt.Println(look == monitor.Bad, detail)
	// Output: true 502 Bad Gateway
}
