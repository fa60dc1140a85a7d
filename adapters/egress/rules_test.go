package egress

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	rules, err := Parse("example.org", "*.Example.net:8443", "192.0.2.7:443", "[2001:db8::1]:80", "gitlab:8080", "packages")
	require.NoError(t, err)
	for name, want := range map[string]bool{
		"example.org:443": true, "example.org:80": true, "example.org:22": false, "x.example.org:443": false,
		"x.y.example.net:8443": true, "example.net:8443": false, "x.example.net:443": false, "gitlab:8080": true, "gitlab:80": false,
		"registry.npmjs.org:443": true, "192.0.2.7:443": false,
	} {
		host, text, _ := strings.Cut(name, ":")
		port, err := strconv.ParseUint(text, 10, 16)
		require.NoError(t, err)
		require.Equal(t, want, rules.named(host, uint16(port)), name)
	}
	require.True(t, rules.listed(netip.MustParseAddr("192.0.2.7"), 443))
	require.False(t, rules.listed(netip.MustParseAddr("192.0.2.7"), 80))
	require.True(t, rules.listed(netip.MustParseAddr("2001:db8::1"), 80))
	for _, bad := range []string{"", "*", "*.org", "localhost", "packages2", "https://example.org", "example.org/x", "example.org:0", "example.org:x", "ex ample.org", "*.*.example.org", "a..b", "2130706433:80", "127.1:80", "fe80::1%lo", "-x.example.org", "kim:pw@example.org"} {
		_, err := Parse(bad)
		require.ErrorContains(t, err, "want a host such as", bad)
	}
	for _, vendor := range []string{"anthropic", "openai", "google", "opencode"} {
		rules, err := Parse(ofVendor(vendor)...)
		require.NoError(t, err)
		require.NotEmpty(t, rules)
	}
	require.Empty(t, ofVendor("other"))
}

func TestOfURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://api.example.org/v1": "api.example.org:443", "http://api.example.org": "api.example.org:80", "https://h:8443": "h:8443", "http://[2001:db8::1]/x": "[2001:db8::1]:80",
		"http://127.0.0.1:9/x": "", "http://localhost:9": "", "http://[::1]:9": "",
	} {
		entry, loopback, ok := ofURL(text)
		require.True(t, ok)
		require.Equal(t, want, entry, text)
		require.Equal(t, want == "", loopback.IsValid() && loopback.Port() == 9, text)
	}
	for _, text := range []string{"", "x", "/x", "://"} {
		_, _, ok := ofURL(text)
		require.False(t, ok, text)
	}
}

// What the link and a cloud's metadata are reached at no list allows, in whatever clothes.
func TestMetadata(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"169.254.169.254": true, "::ffff:169.254.169.254": true, "64:ff9b::a9fe:a9fe": true, "169.254.1.1": true, "fe80::1": true, "fd00:ec2::254": true,
		"100.100.100.200": true, "168.63.129.16": true, "10.0.0.8": false, "127.0.0.1": false, "fd00::1": false, "93.184.216.34": false,
	} {
		_, err := Parse(net.JoinHostPort(address, "80"))
		require.Equal(t, want, err != nil, address)
		require.Equal(t, want, metadata(netip.MustParseAddr(address)), address)
	}
}

func TestPublic(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true, "::ffff:93.184.216.34": true, "64:ff9b::5db8:d822": true,
		"127.0.0.1": false, "127.8.0.1": false, "::1": false, "0.0.0.0": false, "0.1.2.3": false, "::": false, "10.1.1.1": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "fd00:ec2::254": false, "fe80::1": false, "224.0.0.1": false, "ff02::1": false, "255.255.255.255": false, "240.0.0.1": false,
		"100.64.0.1": false, "198.18.0.1": false, "192.0.0.170": false, "::ffff:127.0.0.1": false, "::127.0.0.1": false, "64:ff9b::7f00:1": false, "64:ff9b:1::1": false, "2002:7f00:1::": false,
	} {
		require.Equal(t, want, public(netip.MustParseAddr(address)), address)
	}
}

// No entry of any text has the proxy look up what is no name.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"example.org", "*.example.org:443", "[::1]:80", "1.2.3.4", "packages", "*.1"} {
		f.Add(seed, "x.example.org")
	}
	f.Fuzz(func(t *testing.T, entry, host string) {
		rules, err := Parse(entry)
		if err != nil {
			return
		}
		if rules.named(host, 443) && !nameForm.MatchString(host) && host[0] != '.' && len(host) > 1 && !rules[0].below {
			t.Fatalf("%q allows %q", entry, host)
		}
		if rules.named("127.0.0.1", 443) || rules.named("2130706433", 443) || rules.named("[::1]", 443) {
			t.Fatalf("%q allows an address by name", entry)
		}
	})
}
