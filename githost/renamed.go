package githost

import (
	"cmp"
	"maps"
	"strings"
	"sync"
)

// Names keeps what repositories are called now that were renamed or transferred, by the names that the registry has. Hosts
// answer reads under the former name as well. The zero value has none.
type Names struct {
	mu  sync.Mutex
	now map[string]string
	ids map[int64]string // names that the registry has, by the host's numbers
}

// Learn notes what a repository is called now, and the host's number of it, which stays; empty and 0 say nothing.
func (n *Names) Learn(repo, now string, id int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ids == nil {
		n.ids, n.now = map[int64]string{}, map[string]string{}
	}
	if id != 0 {
		maps.DeleteFunc(n.ids, func(_ int64, name string) bool { return name == repo }) // another may have the name now
		n.ids[id] = repo
	}
	if strings.EqualFold(repo, now) {
		delete(n.now, repo) // it has its name back
	} else if now != "" {
		n.now[repo] = now
	}
}

// Now is the name of a repository at its host, as far as it is known.
func (n *Names) Now(repo string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return cmp.Or(n.now[repo], repo)
}

// Registered is the name by which the service calls a repository of webhooks, which have the new one: with the first
// of them that is learned.
func (n *Names) Registered(now string, id int64) string {
	n.mu.Lock()
	repo, known := n.ids[id]
	n.mu.Unlock()
	if known {
		n.Learn(repo, now, id)
		return repo
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for repo, name := range n.now {
		if strings.EqualFold(name, now) {
			return repo
		}
	}
	return now
}
