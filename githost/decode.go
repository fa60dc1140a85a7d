package githost

import (
	"encoding/json"
	"errors"
	"fmt"
)

// DecodeHook reads the payload of a webhook by the reader of its event. An event without one is HookOther. fill adds the
// repository and the sender; what a hook of its kind always has and this one lacks is the error.
func DecodeHook[P any](host, event string, body []byte, readers map[string]func(P) Hook, fill func(*Hook, P)) (Hook, error) {
	read, known := readers[event]
	if !known && !json.Valid(body) {
		return Hook{}, errors.New(host + ": the payload is not JSON")
	}
	if !known {
		return Hook{Kind: HookOther, Event: event}, nil
	}
	var p P
	if err := json.Unmarshal(body, &p); err != nil {
		return Hook{}, fmt.Errorf("%s: the payload of %q cannot be read: %w", host, event, err)
	}
	h := read(p)
	h.Event = event
	if fill(&h, p); h.Kind == HookOther {
		return h, nil
	}
	if lacks := h.lacks(); lacks != "" {
		return Hook{}, fmt.Errorf("%s: a webhook of %q without %s", host, event, lacks)
	}
	return h, nil
}

// lacks names what a hook of its kind always has.
func (h Hook) lacks() string {
	about := h.Kind == HookReview || h.Kind == HookMerged
	switch {
	case h.Repo == "":
		return "a repository"
	case h.SHA == "" && (about || h.Kind == HookCI):
		return "a commit"
	case h.Number == 0 && (about || h.Kind == HookPullRequest || h.Kind == HookComment || h.Kind == HookThread):
		return "a number"
	case h.MergeSHA == "" && h.Kind == HookMerged:
		return "a merge commit"
	case h.State == "" && h.Kind == HookReview:
		return "a state"
	default:
		return ""
	}
}
