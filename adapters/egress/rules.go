package egress

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Ports of the entries that name none.
const (
	portHTTP  = 80
	portHTTPS = 443
)

// Rules are an allow-list of hosts. The zero value allows none.
type Rules []rule

// rule is an entry of an allow-list.
type rule struct {
	name    string     // in small letters; behind a wildcard with its leading dot
	below   bool       // it stands for all names below name
	address netip.Addr // in place of the name
	port    uint16     // 0 = 80 and 443
}

var nameForm = regexp.MustCompile(`^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)

// Parse reads entries of an allow-list: a name (example.org), all names below one
// (*.example.org), or an IP address, each with a port behind a colon or for 80 and 443 without
// one, or the name of a list of Lists. The error names the first entry that is none of these.
func Parse(entries ...string) (Rules, error) {
	var out Rules
	for _, entry := range entries {
		if list, ok := lists()[entry]; ok {
			more, err := Parse(list...)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
			continue
		}
		r, ok := parseRule(entry)
		if !ok {
			lists := strings.Join(slices.Sorted(maps.Keys(lists())), ", ")
			return nil, fmt.Errorf("%q, want a host such as proxy.example.org, *.example.org, "+
				"proxy.example.org:8443 or 192.0.2.7:443 (none of the link, or of a cloud's metadata), "+
				"or one of the lists %s", entry, lists)
		}
		out = append(out, r)
	}
	return out, nil
}

func parseRule(entry string) (r rule, ok bool) {
	host := entry
	if i := strings.LastIndexByte(entry, ':'); i >= 0 && (strings.Count(entry, ":") == 1 || strings.HasPrefix(entry, "[")) {
		host = entry[:i]
		n, err := strconv.ParseUint(entry[i+1:], 10, 16)
		if err != nil || n == 0 {
			return r, false
		}
		r.port = uint16(n)
	}
	if address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")); err == nil {
		r.address = address.Unmap()
		return r, address.Zone() == "" && !metadata(address)
	}
	r.name = strings.ToLower(host)
	if name, below := strings.CutPrefix(r.name, "*."); below {
		r.name, r.below = "."+name, strings.Contains(name, ".") // all of a top domain is no list
		return r, r.below && nameForm.MatchString(name)
	}
	return r, nameForm.MatchString(r.name) && (strings.Contains(r.name, ".") || r.port != 0)
}

// ofURL is the entry for the host of a URL; ok is false when it has none. A loopback address
// is not to be reached by a proxy: loopback is it, and entry is empty.
func ofURL(text string) (entry string, loopback netip.AddrPort, ok bool) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return "", loopback, false
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80"}[u.Scheme], "443")
	host := u.Hostname()
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if at, err := netip.ParseAddrPort("[" + host + "]:" + port); err == nil && at.Addr().IsLoopback() {
		return "", at, true
	}
	if at, err := netip.ParseAddrPort(host + ":" + port); err == nil && at.Addr().IsLoopback() {
		return "", at, true
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port, loopback, true
}

func (r rule) fits(port uint16) bool {
	return r.port == port || r.port == 0 && (port == portHTTP || port == portHTTPS)
}

// named reports whether a name may be looked up for a port.
func (rs Rules) named(name string, port uint16) bool {
	return slices.ContainsFunc(rs, func(r rule) bool {
		return r.name != "" && r.fits(port) && (r.below && strings.HasSuffix(name, r.name) || !r.below && name == r.name)
	})
}

// listed reports whether an entry is this very address.
func (rs Rules) listed(address netip.Addr, port uint16) bool {
	return slices.ContainsFunc(rs, func(r rule) bool { return r.fits(port) && r.address.IsValid() && r.address == address })
}

// lists are the allow-lists that an entry may name: packages is what the package managers of
// Go, npm, Python, Rust and Maven read by themselves.
func lists() map[string][]string {
	return map[string][]string{
		"packages": {
			"proxy.golang.org", "sum.golang.org",
			"registry.npmjs.org", "registry.yarnpkg.com",
			"pypi.org", "files.pythonhosted.org",
			"index.crates.io", "static.crates.io", "crates.io",
			"repo.maven.apache.org", "repo1.maven.org",
		},
	}
}

// ofVendor are the hosts of a vendor's model API, and those at which its tools renew how they
// have signed in. Nothing is returned for an unknown one.
func ofVendor(vendor string) []string {
	return map[string][]string{
		"anthropic": {"api.anthropic.com:443", "platform.claude.com:443", "console.anthropic.com:443"},
		"openai":    {"api.openai.com:443", "chatgpt.com:443", "auth.openai.com:443"},
		"google": {
			"generativelanguage.googleapis.com:443", "cloudcode-pa.googleapis.com:443",
			"aiplatform.googleapis.com:443", "oauth2.googleapis.com:443",
		},
		"opencode": {"opencode.ai:443"},
	}[vendor]
}
