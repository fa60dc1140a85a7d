// Package limit bounds what one sender of HTTP requests, and all of them together, may
// take of the service: streams, memory for bodies that nobody has signed yet, guesses
// of a token, lines in the log.
package limit

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Sender returns the sender of a request: its IP address, and of IPv6 the network (/64),
// which one machine has for itself.
func Sender(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if addr = addr.Unmap().WithZone(""); addr.Is6() {
		net, err := addr.Prefix(64)
		if err == nil {
			return net.String()
		}
	}
	return addr.String()
}

// Trusted is a proxy whose headers are believed: a network, or a user of this machine at a unix socket.
type Trusted struct {
	netip.Prefix
	User string // such as uid:33; empty: Prefix counts
}

// userKind begins a peer that is a user of this machine.
const userKind = "uid:"

// UnmarshalText reads 10.0.0.5/32 or uid:33.
func (t *Trusted) UnmarshalText(text []byte) (err error) {
	*t = Trusted{}
	if uid, is := strings.CutPrefix(string(text), userKind); is {
		t.User = string(text)
		if _, err = strconv.ParseUint(uid, 10, 32); err != nil {
			return fmt.Errorf("%q, want uid: and the number of a user", text)
		}
		return nil
	}
	return t.Prefix.UnmarshalText(text)
}

// IsOneOf reports whether a peer, as of Peer, is among proxies. No address is a user's, whatever a header says.
func IsOneOf(proxies []Trusted, peer string) bool {
	addr, err := netip.ParseAddr(peer)
	if host, _, wrong := net.SplitHostPort(peer); wrong == nil && err != nil {
		addr, err = netip.ParseAddr(host)
	}
	return slices.ContainsFunc(proxies, func(t Trusted) bool {
		return t.User != "" && t.User == peer || t.User == "" && err == nil && t.Contains(addr.Unmap())
	})
}

// WithUser marks the requests of a connection as those of a user of this machine.
func WithUser(ctx context.Context, uid uint32) context.Context {
	return context.WithValue(ctx, peerKey{}, UserOf(uid))
}

// UserOf is a user of this machine as Peer has it.
func UserOf(uid uint32) string { return userKind + strconv.FormatUint(uint64(uid), 10) }

// Behind takes the sender of a request that comes from a proxy from X-Forwarded-For: the
// last address there that is no proxy's. Other peers' headers are ignored.
func Behind(next http.Handler, proxies []Trusted) http.Handler {
	trusted := func(peer string) bool { return IsOneOf(proxies, peer) }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user := Peer(r); user != r.RemoteAddr {
			r.RemoteAddr = net.JoinHostPort(user, "0")
		}
		peer, port, err := net.SplitHostPort(r.RemoteAddr)
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for i := len(hops) - 1; err == nil && i >= 0 && trusted(peer); i-- {
			hop := strings.TrimSpace(hops[i])
			if _, wrong := netip.ParseAddr(hop); wrong != nil {
				break
			}
			peer = hop
		}
		if err == nil {
			r = r.WithContext(context.WithValue(r.Context(), peerKey{}, Peer(r)))
			r.RemoteAddr = net.JoinHostPort(peer, port)
		}
		next.ServeHTTP(w, r)
	})
}

type peerKey struct{}

// Peer is the address, with its port, from which a request has come to this process: of the
// proxy, where Behind has replaced it by the sender's.
func Peer(r *http.Request) string {
	if peer, ok := r.Context().Value(peerKey{}).(string); ok {
		return peer
	}
	return r.RemoteAddr
}

// Share is an amount that all senders have together, of which each may take a part.
type Share struct {
	All, Each int64

	mu    sync.Mutex
	taken int64
	by    map[string]int64
}

// Take takes n for a sender, or reports that there is not as much.
func (s *Share) Take(sender string, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken+n > s.All || s.by[sender]+n > s.Each {
		return false
	}
	if s.by == nil {
		s.by = map[string]int64{}
	}
	s.taken += n
	s.by[sender] += n
	return true
}

// Free gives n back.
func (s *Share) Free(sender string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken -= n
	if left := s.by[sender] - n; left > 0 {
		s.by[sender] = left
	} else {
		delete(s.by, sender)
	}
}

// Tally decides when something that may happen often is worth a line in the log: at once,
// and then once a minute, with a count. Its zero value is ready.
type Tally struct {
	mu   sync.Mutex
	last time.Time
	n    int
}

// Count counts one. When say is true it is to be logged that it happened n times since
// the last line.
func (t *Tally) Count(now time.Time) (n int, say bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
	if !t.last.IsZero() && now.Sub(t.last) < time.Minute {
		return 0, false
	}
	n, t.n, t.last = t.n, 0, now
	return n, true
}
