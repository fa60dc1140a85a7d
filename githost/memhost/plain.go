package memhost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
func (h *Host) Contains(ctx context.Context, _, tip, sha string) (as string, err error) {
	leave, err := h.enter(ctx, "Contains")
	defer leave()
	if err != nil {
		return "", err
	}
	return h.landed(tip, sha), nil
}

// landed is Contains. The lock is held.
func (h *Host) landed(tip, sha string) (as string) {
	if h.contains(tip, sha) {
		return sha
	}
	for made, of := range h.squashed {
		if of == sha && h.contains(tip, made) {
			return made
		}
	}
	return ""
}

func (h *Host) contains(tip, sha string) bool {
	for h.squashed[tip] != "" && tip != sha { // nobody but the host has it
		tip = h.parents[tip]
	}
	if h.History != nil {
		return tip == sha || h.History(tip, sha)
	}
	for tip != "" && tip != sha {
		tip = h.parents[tip]
	}
	return tip != ""
}

// forward merges a branch of a plain repository. The lock is held.
func (h *Host) forward(m githost.Merge) (string, error) {
	branches := h.branches[m.Repo]
	switch as := h.landed(branches[m.Base], m.HeadSHA); {
	case as != "":
		return as, nil
	case branches[m.Head] == "":
		return "", githost.ErrNotFound
	case branches[m.Head] != m.HeadSHA:
		return "", githost.ErrHeadMoved
	case !h.contains(m.HeadSHA, branches[m.Base]) || h.conflict[m.HeadSHA]:
		return "", githost.ErrBehind
	}
	h.merges++
	if m.Method != githost.MergeSquash {
		branches[m.Base] = m.HeadSHA
		return m.HeadSHA, nil
	}
	sum := sha256.Sum256([]byte(m.HeadSHA + branches[m.Base]))
	made := hex.EncodeToString(sum[:20])
	h.squashed[made], h.parents[made], branches[m.Base] = m.HeadSHA, branches[m.Base], made
	return made, nil
}
