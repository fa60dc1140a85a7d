package egress

import (
	"slices"
	"strings"
	"sync"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Bounds of what is kept of refused hosts: an agent chooses their names.
const (
	refusedMax = 50  // hosts
	hostMax    = 100 // bytes
)

// others stands for the hosts that refusedMax leaves no room for.
const others = "other hosts"

// refusals are the hosts that were refused, in the order of their first time.
type refusals struct {
	mu   sync.Mutex
	list []work.Refusal
	at   map[string]int
}

func (r *refusals) add(host, why string) {
	host = clean(host)
	r.mu.Lock()
	defer r.mu.Unlock()
	i, known := r.at[host]
	if !known && len(r.list) >= refusedMax {
		host, why = others, ""
		i, known = r.at[host]
	}
	if !known {
		if r.at == nil {
			r.at = map[string]int{}
		}
		i = len(r.list)
		r.at[host] = i
		r.list = append(r.list, work.Refusal{Host: host, Why: why})
	}
	r.list[i].Times++
}

func (r *refusals) all() []work.Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// clean is a host's name that can be shown.
func clean(host string) string {
	if len(host) > hostMax {
		host = host[:hostMax] + "…"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', strings.ContainsRune(".-_:[]…", r):
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '?'
	}, host)
}
