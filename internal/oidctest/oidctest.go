// Package oidctest is an OpenID Connect provider in memory: discovery, keys, the authorisation code
// flow with PKCE. It signs the same person in for whoever comes, and lies on demand.
package oidctest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Server is the provider. Set Issuer to its address before it is called.
type Server struct {
	Issuer, ClientID, ClientSecret string
	Now                            func() time.Time // nil = time.Now

	key *rsa.PrivateKey

	mu     sync.Mutex
	claims map[string]any
	codes  map[string]url.Values // the request that each code was given for
}

// New makes a provider that signs in a person with claims, such as email and groups.
func New(clientID, clientSecret string, claims map[string]any) (*Server, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	return &Server{
		ClientID: clientID, ClientSecret: clientSecret, Now: time.Now,
		key: key, claims: claims, codes: map[string]url.Values{},
	}, nil
}

// Set replaces claims of the person; iss, aud, exp and nonce replace those that would be right.
func (s *Server) Set(claims map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims = claims
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		answer(w, map[string]any{
			"issuer": s.Issuer, "authorization_endpoint": s.Issuer + "/authorize",
			"token_endpoint": s.Issuer + "/token", "jwks_uri": s.Issuer + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"},
		})
	case "/keys":
		answer(w, map[string]any{"keys": []any{map[string]string{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1",
			"n": encode(s.key.N.Bytes()), "e": encode(big.NewInt(int64(s.key.E)).Bytes()),
		}}})
	case "/authorize":
		s.authorize(w, r)
	case "/token":
		s.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

// authorize sends the browser back with a code.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != s.ClientID || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" || q.Get("state") == "" {
		http.Error(w, "invalid_request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	s.mu.Lock()
	s.codes[code] = q
	s.mu.Unlock()
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusSeeOther)
}

// token exchanges a code, once, for those who have its verifier and the client's secret.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if id == "" {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	code := r.PostFormValue("code")
	s.mu.Lock()
	asked, ok := s.codes[code]
	delete(s.codes, code)
	claims := maps.Clone(s.claims)
	s.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	same := encode(sum[:]) == asked.Get("code_challenge") && r.PostFormValue("redirect_uri") == asked.Get("redirect_uri")
	if !ok || id != s.ClientID || secret != s.ClientSecret || !same {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]string{"error": "invalid_grant"})
		return
	}
	all := map[string]any{
		"iss": s.Issuer, "aud": s.ClientID, "sub": "1", "nonce": asked.Get("nonce"),
		"iat": s.Now().Unix(), "exp": s.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(all, claims)
	token, err := s.sign(all)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, map[string]any{"access_token": "a", "token_type": "Bearer", "expires_in": 3600, "id_token": token})
}

func (s *Server) sign(claims map[string]any) (string, error) {
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	text := strings.Join([]string{encode([]byte(`{"alg":"RS256","kid":"1"}`)), encode(body)}, ".")
	sum := sha256.Sum256([]byte(text))
	mark, err := rsa.SignPKCS1v15(rand.Reader, s.key, crypto.SHA256, sum[:])
	return text + "." + encode(mark), err
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that has gone away needs none
}
