package github_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

func TestSignature(t *testing.T) {
	t.Parallel()
	body := []byte(`{"zen":"x"}`)
	const good = "sha256=9c1cbf367262bfa438947512466d6195b85b28cfd040e1cf6b7b1081c4a3ec39"
	h := http.Header{}
	h.Set("X-Hub-Signature-256", good)
	h.Set("X-GitHub-Delivery", "d1")
	h.Set("X-GitHub-Event", "ping")
	c := client(t, github.Options{Secrets: signature.Of(secret)})
	require.True(t, forgekit.Passes(c, h, body))
	id, event := c.Delivery(h)
	require.Equal(t, []string{"d1", "ping"}, []string{id, event})
	require.False(t, forgekit.Passes(c, h, append(body, ' ')))
	sha1Only := http.Header{}
	sha1Only.Set("X-Hub-Signature", "sha1=9ac1053c5c7e1d30e0d7ed6fdf77f14980c58960")
	require.False(t, forgekit.Passes(c, sha1Only, body), "SHA-1 does not count")
	c.SetSecrets(signature.Of("another"))
	require.False(t, forgekit.Passes(c, h, body))
	c.SetSecrets(signature.Of("another", secret))
	require.True(t, forgekit.Passes(c, h, body))
	forgekit.Proof(t, client(t, github.Options{Insecure: true}), c)
}
