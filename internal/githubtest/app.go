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
	repo         string            // owner/name; empty = all of the owner
	rights       map[string]string // nil = those of the app
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
			in := "/repos/" + t.owner + "/"
			if t.repo != "" {
				in = "/repos/" + t.repo + "/"
			}
			return strings.HasPrefix(path, in) || path == "/installation/token"
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
	if err1 != nil || err2 != nil || json.Unmarshal(body, &claims) != nil ||
		rsa.VerifyPKCS1v15(s.opt.App.Key, crypto.SHA256, sum[:], signed) != nil {
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
		var asked struct {
			Repositories []string
			Permissions  map[string]string
		}
		_ = json.NewDecoder(r.Body).Decode(&asked) // nothing is asked for
		t := issued{
			token: fmt.Sprintf("ghs_token-%d", len(s.issued)+1), owner: owner(repo.name),
			until: s.opt.Now().Add(tokenTime), rights: asked.Permissions,
		}
		answer := map[string]any{"token": t.token, "expires_at": t.until.UTC().Format(time.RFC3339), "permissions": s.opt.App.Rights}
		if len(asked.Repositories) == 1 {
			if t.repo = t.owner + "/" + asked.Repositories[0]; s.repo(t.repo) == nil {
				fail(w, http.StatusUnprocessableEntity, "There is at least one repository that does not exist "+
					"or is not accessible to the parent installation.")
				return
			}
			answer["repositories"], answer["permissions"] = []any{map[string]any{"full_name": t.repo}}, t.rights
		}
		for name, level := range t.rights {
			if have := s.opt.App.Rights[name]; have != level && have != "write" {
				fail(w, http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
				return
			}
		}
		s.issued = append(s.issued, t)
		reply(w, http.StatusCreated, answer)
		return
	}
	fail(w, http.StatusNotFound, "Not Found")
}

// revokeToken ends the token that calls.
func (s *Server) revokeToken(w http.ResponseWriter, r *http.Request) {
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	for i := range s.issued {
		if s.issued[i].token == given {
			s.issued[i].until = time.Time{}
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// Valid lists the tokens of installations that have not ended.
func (s *Server) Valid() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.issued {
		if s.opt.Now().Before(t.until) {
			list = append(list, t.token)
		}
	}
	return list
}
