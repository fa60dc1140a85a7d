package planetest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
)

// SetFaults sets the chances of failure.
func (s *Server) SetFaults(f fakehttp.Faults) {
	s.API.SetFaults(f)
	s.Sender.SetFaults(f)
}

// named returns the name of a request in Break and Requests: of one outside of a project its path,
// as in "GET users/me", or else as in "PATCH work-items/*" or "POST work-items/*/comments".
func named(r *http.Request) string {
	_, path, inside := strings.Cut(r.URL.Path, "/projects/")
	if path = strings.Trim(path, "/"); !inside || path == "" {
		return r.Method + " " + strings.Trim(strings.TrimPrefix(r.URL.Path, "/api/v1"), "/")
	}
	_, path, _ = strings.Cut(path, "/")
	return r.Method + " " + strings.Join(shape(strings.Split(path, "/")), "/")
}

// refuse answers what meets a fault.
func refuse(w http.ResponseWriter, _ *http.Request, f fakehttp.Fault) {
	switch f {
	case fakehttp.TooMany:
		tooMany(w, time.Second)
	case fakehttp.Denied:
		reply(w, http.StatusForbidden, map[string]string{"detail": "You do not have permission to perform this action."})
	case fakehttp.TooLarge:
		reply(w, http.StatusRequestEntityTooLarge, map[string]string{"error": "REQUEST_BODY_TOO_LARGE"})
	default:
		reply(w, http.StatusInternalServerError, map[string]string{"error": "Something went wrong please try again later"})
	}
}

// IsComment reports whether a request reads or writes comments.
func IsComment(r *http.Request) bool { return strings.Contains(r.URL.Path, "/comments/") }

// IsStatus reports whether a request changes a work item, as setting its state does.
func IsStatus(r *http.Request) bool { return r.Method == http.MethodPatch }

// limited applies Options.RateLimit to a token, and answers when it is used up.
func (s *Server) limited(w http.ResponseWriter, token string) bool {
	limit, now := s.opt.RateLimit, s.opt.Now()
	if limit < 0 {
		return false
	}
	calls := slices.DeleteFunc(s.calls[token], func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(calls) >= limit {
		s.calls[token] = calls
		tooMany(w, time.Minute-now.Sub(calls[0]))
		return true
	}
	s.calls[token] = append(calls, now)
	w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(limit-len(calls)-1))
	w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(now.Add(time.Minute).Unix(), 10))
	return false
}

// tooMany answers without the headers that admitted calls get.
func tooMany(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	reply(w, http.StatusTooManyRequests, map[string]any{"error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED"})
}
