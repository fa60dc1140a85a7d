// Package signature verifies webhooks while they are read: by HMAC over the raw body, as
// the Scheme of their sender says, under the secrets that are valid at the moment. A secret
// may be a project's own; then it speaks for that project only.
package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"hash"
	"strings"
)

// ErrMissing means that the headers carry no signature of the right form.
var ErrMissing = errors.New("signature: missing or malformed")

// Secret signs webhooks.
type Secret struct {
	Value string
	// Repo (owner/name) is the only repository for which it speaks, with its board;
	// empty: it speaks for all that have no secret of their own.
	Repo string
}

// Secrets are those of one sender. Several are valid at a time while one is replaced.
type Secrets []Secret

// Of makes secrets that speak for all; empty values are left out.
func Of(values ...string) (out Secrets) {
	for _, v := range values {
		if v != "" {
			out = append(out, Secret{Value: v})
		}
	}
	return out
}

// Check begins to verify a body against the HMAC-SHA256 that came with it. Without
// secrets nothing passes.
func (s Secrets) Check(given []byte) *Check { return s.check(given, sha256.New) }

func (s Secrets) check(given []byte, of func() hash.Hash) *Check {
	c := &Check{given: given, secrets: s, sums: map[string]hash.Hash{}}
	for _, secret := range s {
		if secret.Value != "" && c.sums[secret.Value] == nil {
			c.sums[secret.Value] = hmac.New(of, []byte(secret.Value))
		}
	}
	return c
}

// Anybody is the check of a receiver that takes unsigned webhooks.
func Anybody() *Check { return &Check{open: true} }

// Check verifies one body, which is written to it.
type Check struct {
	given   []byte
	secrets Secrets
	sums    map[string]hash.Hash // by the value of the secret
	tail    string               // is signed behind what was written
	open    bool                 // whatever was written is taken
}

// Write takes a part of the body. It does not fail.
func (c *Check) Write(p []byte) (int, error) {
	for _, h := range c.sums {
		h.Write(p)
	}
	return len(p), nil
}

// Passed reports whether one of the secrets has signed what was written.
func (c *Check) Passed() bool {
	c.end()
	passed := c.open
	for _, s := range c.secrets {
		passed = c.signedBy(s) || passed
	}
	return passed
}

// SpeaksFor reports whether a secret has signed what was written that speaks for a
// repository: its own, or a common one when it has none.
func (c *Check) SpeaksFor(repo string) bool {
	c.end()
	speaks, own := c.open, false
	for _, s := range c.secrets {
		if strings.EqualFold(s.Repo, repo) {
			own, speaks = true, c.signedBy(s) || speaks
		}
	}
	for _, s := range c.secrets {
		if !own && s.Repo == "" {
			speaks = c.signedBy(s) || speaks
		}
	}
	return speaks
}

// end adds the tail, once.
func (c *Check) end() {
	_, _ = c.Write([]byte(c.tail)) // it does not fail
	c.tail = ""
}

// signedBy compares in constant time.
func (c *Check) signedBy(s Secret) bool {
	h := c.sums[s.Value]
	return h != nil && hmac.Equal(c.given, h.Sum(nil))
}
