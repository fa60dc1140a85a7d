package signature_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

func mac(secret, body string) []byte {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(body))
	return m.Sum(nil)
}

// check writes a body in two parts.
func check(t *testing.T, s signature.Secrets, given []byte, body string) *signature.Check {
	t.Helper()
	c := s.Check(given)
	for _, part := range []string{body[:len(body)/2], body[len(body)/2:]} {
		n, err := c.Write([]byte(part))
		require.NoError(t, err)
		require.Len(t, part, n)
	}
	return c
}

func TestTwoSecretsAreValid(t *testing.T) {
	both := signature.Of("new", "", "old")
	require.Len(t, both, 2)
	for _, secret := range []string{"new", "old"} {
		require.True(t, check(t, both, mac(secret, "body"), "body").Passed(), secret)
		require.False(t, check(t, both, mac(secret, "body"), "Body").Passed(), secret)
	}
	require.False(t, check(t, both, mac("other", "body"), "body").Passed())
	require.False(t, check(t, both, nil, "body").Passed())
	require.False(t, check(t, nil, mac("", "body"), "body").Passed(), "without a secret nobody is let in")
	require.False(t, check(t, signature.Secrets{{}}, mac("", "body"), "body").Passed(), "an empty secret signs nothing")
}

// Whose secret has signed says for which repository a webhook may speak.
func TestSpeaksForItsOwn(t *testing.T) {
	s := signature.Secrets{{Value: "common"}, {Value: "a1", Repo: "acme/a"}, {Value: "a2", Repo: "acme/a"}, {Value: "b", Repo: "acme/b"}}
	for secret, want := range map[string]map[string]bool{
		"common": {"acme/a": false, "acme/b": false, "acme/c": true},
		"a1":     {"acme/a": true, "Acme/A": true, "acme/b": false, "acme/c": false},
		"a2":     {"acme/a": true, "acme/b": false, "acme/c": false},
		"b":      {"acme/a": false, "acme/b": true, "acme/c": false},
		"other":  {"acme/a": false, "acme/b": false, "acme/c": false, "": false},
	} {
		c := check(t, s, mac(secret, "body"), "body")
		require.Equal(t, secret != "other", c.Passed(), secret)
		for repo, speaks := range want {
			require.Equal(t, speaks, c.SpeaksFor(repo), "%s for %s", secret, repo)
		}
	}
	anybody := signature.Anybody()
	require.True(t, anybody.Passed())
	require.True(t, anybody.SpeaksFor("acme/a"))
}
