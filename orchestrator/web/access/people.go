package access

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
)

// Person holds what an identity provider or a proxy says of somebody.
type Person struct {
	Name    string
	Groups  []string
	Subject string // that the provider gives to nobody else, as issuer#sub; empty = it is a proxy's
}

// Rule gives a right to the people of a group ("platform"), to one by name ("user:ann@example.org") or by what the
// provider never gives to another ("sub:1234"), or to all who were identified ("*").
type Rule struct {
	Who   string
	Grant Grant
}

// Rules are the rights of people.
type Rules []Rule

// UnmarshalText reads who=role@owner/name+owner/name,…
func (l *Rules) UnmarshalText(text []byte) error {
	*l = nil
	for pair := range strings.SplitSeq(string(text), ",") {
		at := strings.LastIndex(pair, "=")
		if at < 1 {
			return fmt.Errorf("%q, want group=role, user:name=role, sub:subject=role or *=role, and perhaps @owner/name+owner/name", pair)
		}
		g, err := parseGrant(strings.TrimSpace(pair[at+1:]))
		if err != nil {
			return err
		}
		*l = append(*l, Rule{strings.TrimSpace(pair[:at]), g})
	}
	return nil
}

// grants returns the rights that the rules give a person.
func (l Rules) grants(p Person) (out []Grant) {
	for _, r := range l {
		name, one := strings.CutPrefix(r.Who, "user:")
		sub, same := strings.CutPrefix(r.Who, "sub:")
		_, own, _ := strings.Cut(p.Subject, "#") // the issuer is the one that is configured
		if r.Who == "*" || one && name == p.Name || same && sub == own || !one && !same && slices.Contains(p.Groups, r.Who) {
			out = append(out, r.Grant)
		}
	}
	return out
}

// Proxy names people whom it has signed in, in headers that it sets itself and takes from nobody.
type Proxy struct {
	User   string          `env:"PROXY_USER_HEADER" with:"PROXY_USERS_FROM" doc:"header where a proxy names people, as X-Remote-User"`
	Groups string          `env:"PROXY_GROUPS_HEADER" doc:"header with their groups, separated by commas"`
	From   []limit.Trusted `env:"PROXY_USERS_FROM" doc:"proxies, as 10.0.0.5/32,… or uid:33, whose PROXY_USER_HEADER is believed"`
	Secret secret.String   `env:"PROXY_SECRET" form:"long" doc:"which such a proxy sends as X-Signalbox-Proxy, 128 bits"`
}

// secretHeader is how a proxy proves that it is one.
const secretHeader = "X-Signalbox-Proxy"

// SharesAddress reports whether others than the proxy can call from the addresses of which it is believed.
func (x Proxy) SharesAddress() bool {
	return x.User != "" && !x.Secret.IsSet() && slices.ContainsFunc(x.From, func(p limit.Trusted) bool {
		return p.User == "" && (p.Overlaps(netip.MustParsePrefix("127.0.0.0/8")) || p.Contains(netip.IPv6Loopback()))
	})
}

// person is whom a request's proxy names; false: it comes from no such proxy, or names nobody.
func (x Proxy) person(r *http.Request) (Person, bool) {
	if x.User == "" || !limit.IsOneOf(x.From, limit.Peer(r)) {
		return Person{}, false
	}
	if x.Secret.IsSet() && subtle.ConstantTimeCompare([]byte(r.Header.Get(secretHeader)), []byte(x.Secret.Reveal())) != 1 {
		return Person{}, false
	}
	p := Person{Name: r.Header.Get(x.User)}
	for group := range strings.SplitSeq(strings.Join(r.Header.Values(x.Groups), ","), ",") {
		if group = strings.TrimSpace(group); group != "" {
			p.Groups = append(p.Groups, group)
		}
	}
	return p, p.Name != ""
}
