package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// OnlyHosts answers requests that name this machine by an IP address, localhost
// or a name below it, or one of names (case does not matter), and refuses others
// with 421. Without it a page from elsewhere whose name was made to lead to this
// machine (DNS rebinding) could read what is open to every client of the handler.
func OnlyHosts(next http.Handler, names ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !knownHost(r.Host, names) {
			const text = "The server does not know itself by the host name of this request. " +
				"The operator can add the name to ORCH_HOSTS."
			problem(w, http.StatusMisdirectedRequest, "unknown-host", text)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// knownHost reports whether a Host header names this machine.
func knownHost(header string, names []string) bool {
	host := header
	if name, _, err := net.SplitHostPort(header); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, host) })
}

// open reports whether a path may be requested by any name: what is signed, and what probes
// and collectors read, which come by many names.
func open(path string) bool {
	return strings.HasPrefix(path, "/webhooks/") || path == "/healthz" || path == "/readyz" || path == "/metrics"
}

// onlyHosts is OnlyHosts for the paths that are not open.
func onlyHosts(next http.Handler, names []string) http.Handler {
	guarded := OnlyHosts(next, names...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}
