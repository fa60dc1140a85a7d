package signature_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

func sign(of func() hash.Hash, text string) []byte {
	m := hmac.New(of, []byte("secret"))
	m.Write([]byte(text))
	return m.Sum(nil)
}

// Each scheme takes what its sender has signed, and nothing of which a byte is another.
func TestSchemes(t *testing.T) {
	const body = `{"n":7}`
	now := time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC)
	stamp := strconv.FormatInt(now.Add(-50*time.Second).Unix(), 10)
	millis := strconv.FormatInt(now.Add(50*time.Second).UnixMilli(), 10)
	in := []signature.Place{{Header: "X-Sig"}}
	for name, c := range map[string]struct {
		scheme signature.Scheme
		header http.Header
	}{
		"hex": {signature.Scheme{In: in}, http.Header{"X-Sig": {hex.EncodeToString(sign(sha256.New, body))}}},
		"a prefix, and the second header": {
			signature.Scheme{In: []signature.Place{{Header: "X-Other"}, {Header: "X-Sig", Prefix: "sha256="}}},
			http.Header{"X-Sig": {"sha256=" + hex.EncodeToString(sign(sha256.New, body))}},
		},
		"SHA-1 of body and address in base64": {
			signature.Scheme{In: in, Hash: sha1.New, Base64: true, URL: "https://box.example.org/webhooks/x"},
			http.Header{"X-Sig": {base64.StdEncoding.EncodeToString(sign(sha1.New, body+"https://box.example.org/webhooks/x"))}},
		},
		"a stamp": {
			signature.Scheme{In: in, Stamp: "X-At", Age: time.Minute},
			http.Header{"X-Sig": {hex.EncodeToString(sign(sha256.New, stamp+"."+body))}, "X-At": {stamp}},
		},
		"a stamp in milliseconds": {
			signature.Scheme{In: in, Stamp: "X-At", Age: time.Minute},
			http.Header{"X-Sig": {hex.EncodeToString(sign(sha256.New, millis+"."+body))}, "X-At": {millis}},
		},
	} {
		passes := func(h http.Header, secret, body string, now time.Time) bool {
			check, err := c.scheme.Check(h.Get, signature.Of("new", secret), false, now)
			if err != nil {
				require.ErrorIs(t, err, signature.ErrMissing)
				return false
			}
			for _, b := range []byte(body) {
				_, _ = check.Write([]byte{b})
			}
			passed := check.Passed()
			require.Equal(t, passed, check.SpeaksFor("acme/a"), "asked again")
			return passed
		}
		require.True(t, passes(c.header, "secret", body, now), name)
		require.False(t, passes(c.header, "secret", body+" ", now), name)
		require.False(t, passes(c.header, "another", body, now), name)
		for header, values := range c.header {
			h := c.header.Clone()
			h.Del(header)
			require.False(t, passes(h, "secret", body, now), "%s without %s", name, header)
			h.Set(header, values[0][:len(values[0])-1])
			require.False(t, passes(h, "secret", body, now), "%s: %s is cut", name, header)
		}
		later := now.Add(2 * time.Minute)
		require.Equal(t, c.scheme.Age == 0, passes(c.header, "secret", body, later), "%s: an old one", name)
	}
}

// A sender that signs nothing is let in while no secret is set and that is said to be so, as any other is.
func TestUnsigned(t *testing.T) {
	for _, scheme := range []signature.Scheme{{}, {In: []signature.Place{{Header: "X-Sig"}}}} {
		check, err := scheme.Check(http.Header{}.Get, nil, true, time.Time{})
		require.NoError(t, err)
		require.True(t, check.Passed())
		for _, c := range []struct {
			secrets  signature.Secrets
			unsigned bool
		}{{nil, false}, {signature.Of("s"), true}} {
			_, err = scheme.Check(http.Header{}.Get, c.secrets, c.unsigned, time.Time{})
			require.ErrorIs(t, err, signature.ErrMissing)
		}
	}
}
