package githubtest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// App is a GitHub App that is installed for every owner of repositories.
type App struct {
	ID     string
	Key    *rsa.PublicKey
	Rights map[string]string // permissions, such as contents: write
}

// SetApp makes the server take an app from now on; see Options.App.
func (s *Server) SetApp(a *App) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opt.App = a
}

// tokenTime is how long a token of an installation lasts.
const tokenTime = time.Hour

// issued is a token of an installation.
type issued struct {
	token, owner string
	until        time.Time
}

// Issued counts the tokens that installations were given.
func (s *Server) Issued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.issued)
}

// mayEnter checks who calls: the token's account, the app itself for pages about the app, or one
// of its installations for repositories of its owner.
func (s *Server) mayEnter(r *http.Request) bool {
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	path := r.URL.Path
	if s.opt.App != nil && (strings.HasPrefix(path, "/app") || strings.HasSuffix(path, "/installation")) {
		return s.proved(given)
	}
	for _, t := range s.issued {
		if t.token == given && s.opt.Now().Before(t.until) {
			return strings.HasPrefix(path, "/repos/"+t.owner+"/")
		}
	}
	return s.login(r) != "" && (s.opt.App == nil || given == s.opt.Token && given != "")
}

// proved checks a JSON web token as GitHub does.
func (s *Server) proved(text string) bool {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return false
	}
	signed, err1 := base64.RawURLEncoding.DecodeString(parts[2])
	body, err2 := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Iat, Exp int64
		Iss      string
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err1 != nil || err2 != nil || json.Unmarshal(body, &claims) != nil || rsa.VerifyPKCS1v15(s.opt.App.Key, crypto.SHA256, sum[:], signed) != nil {
		return false
	}
	now := s.opt.Now().Unix()
	return claims.Iss == s.opt.App.ID && claims.Iat <= now && claims.Exp > now && claims.Exp-now <= 600
}

func (s *Server) getApp(w http.ResponseWriter, _ *http.Request) {
	if s.opt.App == nil {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	reply(w, http.StatusOK, map[string]any{"id": 1, "slug": "signalbox", "name": "Signalbox"})
}

func (s *Server) installation(w http.ResponseWriter, r *http.Request) {
	if s.opt.App == nil || s.repo(r.PathValue("owner")+"/"+r.PathValue("repo")) == nil {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	reply(w, http.StatusOK, map[string]any{"id": suiteID(r.PathValue("owner")), "app_slug": "signalbox", "permissions": s.opt.App.Rights})
}

func (s *Server) accessToken(w http.ResponseWriter, r *http.Request) {
	for _, repo := range s.repos {
		if strconv.Itoa(suiteID(owner(repo.name))) != r.PathValue("id") {
			continue
		}
		t := issued{fmt.Sprintf("ghs_token-%d", len(s.issued)+1), owner(repo.name), s.opt.Now().Add(tokenTime)}
		s.issued = append(s.issued, t)
		reply(w, http.StatusCreated, map[string]any{"token": t.token, "expires_at": t.until.UTC().Format(time.RFC3339), "permissions": s.opt.App.Rights})
		return
	}
	fail(w, http.StatusNotFound, "Not Found")
}
