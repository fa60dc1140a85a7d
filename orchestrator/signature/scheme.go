package signature

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"time"
)

// Scheme is how a sender signs its webhooks: by HMAC over the body, and what else it says. Its zero fields are what most do.
type Scheme struct {
	In     []Place          // where the signature is: the first header that is there; none: the sender signs nothing
	Hash   func() hash.Hash // nil = SHA-256
	Base64 bool             // in place of hex
	URL    string           // the address of the receiver, where it is signed behind the body
	// Stamp is the header with the moment, in seconds or milliseconds since 1970, where it is signed before the body with a
	// dot between them; Age is how far it may be from now, 0 = any.
	Stamp string
	Age   time.Duration
}

// Place is a header, and what stands in it before the signature.
type Place struct{ Header, Prefix string }

// Check begins to verify a body by its headers. While there are no secrets nothing passes, or, where unsigned is set, all.
// The error is ErrMissing: they carry no signature of this scheme, or one of another time.
func (s Scheme) Check(header func(name string) string, secrets Secrets, unsigned bool, now time.Time) (*Check, error) {
	if len(secrets) == 0 && unsigned {
		return Anybody(), nil
	}
	if s.Hash == nil {
		s.Hash = sha256.New
	}
	given := s.given(header)
	if len(given) != s.Hash().Size() {
		return nil, ErrMissing
	}
	c := secrets.check(given, s.Hash)
	c.tail = s.URL
	if s.Stamp == "" {
		return c, nil
	}
	stamp := header(s.Stamp)
	n, err := strconv.ParseInt(stamp, 10, 64)
	at := time.Unix(n, 0)
	if n > 1e11 {
		at = time.UnixMilli(n)
	}
	if err != nil || s.Age > 0 && now.Sub(at).Abs() > s.Age {
		return nil, fmt.Errorf("%w: it is of %.40q, and now is %d", ErrMissing, stamp, now.Unix())
	}
	_, _ = c.Write([]byte(stamp + ".")) // it does not fail
	return c, nil
}

// given is the signature that came; nil when there is none.
func (s Scheme) given(header func(string) string) (out []byte) {
	decode := hex.DecodeString
	if s.Base64 {
		decode = base64.StdEncoding.DecodeString
	}
	for _, in := range s.In {
		if text := header(in.Header); text != "" {
			if text, ok := strings.CutPrefix(text, in.Prefix); ok {
				out, _ = decode(text) // what cannot be read has the wrong length
			}
			return out
		}
	}
	return nil
}
