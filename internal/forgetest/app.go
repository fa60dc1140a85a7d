package forgetest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
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
	defer s.lock()()
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
	defer s.lock()()
	return len(s.issued)
}

// mayEnter checks who calls: the token's account, the app itself for pages about the app, or one
// of its installations for repositories of its owner.
func (s *Server) mayEnter(r *http.Request) bool {
	given, path := s.token(r), r.URL.Path
	if strings.HasPrefix(path, files) {
		return true
	}
	if s.opt.App != nil && (strings.HasPrefix(path, "/app") || strings.HasSuffix(path, "/installation")) {
		return s.proved(given)
	}
	for _, t := range s.issued {
		if t.token == given && s.opt.Now().Before(t.until) {
			in := "/repos/" + t.owner + "/"
			if t.repo != "" {
				in = "/repos/" + t.repo + "/"
			}
			return strings.HasPrefix(path, in) || path == "/installation/token" || path == "/graphql"
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

func (c *call) getApp() {
	if c.opt.App == nil {
		c.fail(c.notFound)
		return
	}
	c.ok(object{"id": 1, "slug": "signalbox", "name": "Signalbox"})
}

func (c *call) installation() {
	if c.opt.App == nil {
		c.fail(c.notFound)
		return
	}
	c.ok(object{"id": suiteID(c.r.PathValue("owner")), "app_slug": "signalbox", "permissions": c.opt.App.Rights})
}

func (c *call) accessToken() {
	at := slices.IndexFunc(c.repos, func(r *repository) bool { return strconv.Itoa(suiteID(owner(r.name))) == c.r.PathValue("id") })
	if at < 0 {
		c.fail(c.notFound)
		return
	}
	var in struct {
		Repositories []string
		Permissions  map[string]string
	}
	_ = json.NewDecoder(c.r.Body).Decode(&in) // a request without a body is for all
	t := issued{
		token: fmt.Sprintf("ghs_token-%d", len(c.issued)+1), owner: owner(c.repos[at].name),
		until: c.opt.Now().Add(tokenTime), rights: in.Permissions,
	}
	out := object{"token": t.token, "expires_at": stamp(t.until), "permissions": c.opt.App.Rights}
	if len(in.Repositories) == 1 {
		if t.repo = t.owner + "/" + in.Repositories[0]; c.repo(t.repo) == nil {
			c.fail(refusal{status: http.StatusUnprocessableEntity, text: "There is at least one repository that does not exist " +
				"or is not accessible to the parent installation."})
			return
		}
		out["repositories"], out["permissions"] = []any{object{"full_name": t.repo}}, t.rights
	}
	for name, level := range t.rights {
		if have := c.opt.App.Rights[name]; have != level && have != "write" {
			c.fail(refusal{status: http.StatusUnprocessableEntity, text: "The permissions requested are not granted to this installation."})
			return
		}
	}
	c.issued = append(c.issued, t)
	c.reply(http.StatusCreated, out)
}

// revokeToken ends the token that calls.
func (c *call) revokeToken() {
	for i := range c.issued {
		if c.issued[i].token == c.token(c.r) {
			c.issued[i].until = time.Time{}
		}
	}
	c.w.WriteHeader(http.StatusNoContent)
}

func owner(repo string) string { name, _, _ := strings.Cut(repo, "/"); return name }

// Valid lists the tokens of installations that have not ended.
func (s *Server) Valid() (list []string) {
	defer s.lock()()
	for _, t := range s.issued {
		if s.opt.Now().Before(t.until) {
			list = append(list, t.token)
		}
	}
	return list
}
