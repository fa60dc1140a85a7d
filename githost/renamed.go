package githost

import (
	"cmp"
	"strings"
	"sync"
)

// Names keeps what repositories are called now that were renamed or transferred, by the names that the registry has. Hosts
// answer reads under the former name as well. The zero value has none.
type Names struct {
	mu  sync.Mutex
	now map[string]string
}

// Learn notes what a repository is called now; empty says nothing.
func (n *Names) Learn(repo, now string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now == "" || strings.EqualFold(repo, now) {
		return
	}
	if n.now == nil {
		n.now = map[string]string{}
	}
	n.now[repo] = now
}

// Now is the name of a repository at its host, as far as it is known.
func (n *Names) Now(repo string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return cmp.Or(n.now[repo], repo)
}

// Registered is the name by which the service calls a repository of webhooks, which have the new one.
func (n *Names) Registered(now string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for repo, name := range n.now {
		if strings.EqualFold(name, now) {
			return repo
		}
	}
	return now
}
