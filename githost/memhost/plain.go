package memhost

import (
	"context"
	"maps"

	"github.com/signalbox-dev/signalbox/githost"
)

// MakePlain makes a repository git and nothing else.
func (h *Host) MakePlain(repo string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.plain[repo] = true
}

// Plain implements githost.Plain.
func (h *Host) Plain(repo string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.plain[repo]
}

// Heads implements githost.Plain.
func (h *Host) Heads(ctx context.Context, repo string) (map[string]string, error) {
	leave, err := h.enter(ctx, "Heads")
	defer leave()
	return maps.Clone(h.branches[repo]), err
}

// Contains implements githost.Plain.
func (h *Host) Contains(ctx context.Context, _, tip, sha string) (bool, error) {
	leave, err := h.enter(ctx, "Contains")
	defer leave()
	return err == nil && h.contains(tip, sha), err
}

func (h *Host) contains(tip, sha string) bool {
	if h.History != nil {
		return h.History(tip, sha)
	}
	for tip != "" && tip != sha {
		tip = h.parents[tip]
	}
	return tip != ""
}

// forward merges a branch of a plain repository. The lock is held.
func (h *Host) forward(m githost.Merge) (string, error) {
	branches := h.branches[m.Repo]
	switch {
	case h.contains(branches[m.Base], m.HeadSHA):
		return m.HeadSHA, nil
	case branches[m.Head] == "":
		return "", githost.ErrNotFound
	case branches[m.Head] != m.HeadSHA:
		return "", githost.ErrHeadMoved
	case !h.contains(m.HeadSHA, branches[m.Base]) || h.conflict[m.HeadSHA]:
		return "", githost.ErrBehind
	}
	branches[m.Base] = m.HeadSHA
	h.merges++
	return m.HeadSHA, nil
}
