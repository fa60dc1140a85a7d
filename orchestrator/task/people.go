package task

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// People defines who may do what in a project, by the ids of their accounts, their e-mail
// addresses, or "role:" and the tracker's word for their role. An empty list is any
// person. STOP is for everybody, always.
type People struct {
	Starters  []string // set To Analyse and In Progress
	Approvers []string // set Approved and Rejected
	Releasers []string // set Confirm Deploy
	AtHost    []string // accounts of the git host whose approval of a pull request is Approved; "*" = all whose reviews count
	Separate  bool     // who has started a task does not approve it
	// Accounts are names of people, as the lists have them, by their accounts in chats, such as telegram:12345.
	Accounts map[string]string
}

// Described reports whether somebody is named by more than an id: the tracker has to
// describe its accounts then.
func (p People) Described() bool {
	return DescribesAccounts(slices.Concat(p.Starters, p.Approvers, p.Releasers))
}

// Allowed lists those who may raise a trigger, and what they are called.
func (p People) Allowed(on stage.Trigger) (list []string, role string) {
	switch on {
	case stage.OnToAnalyse, stage.OnInProgress:
		return p.Starters, "starters"
	case stage.OnApproved, stage.OnRejected:
		return p.Approvers, "approvers"
	case stage.OnConfirmDeploy:
		return p.Releasers, "releasers"
	default:
		return nil, ""
	}
}

// ApprovesAtHost reports whether an account's approval of a pull request is an Approved.
func (p People) ApprovesAtHost(account string) bool {
	return slices.ContainsFunc(p.AtHost, func(s string) bool { return s == "*" || strings.EqualFold(s, account) })
}

// Restriction says who may set a status, as the end of a sentence; empty when everybody may.
func (p People) Restriction(word stage.Status) string {
	list, role := p.Allowed(stage.Trigger(word))
	apart := p.Separate && word == stage.StatusApproved
	one := fmt.Sprintf("; it takes one of the %s (%s)", role, strings.Join(list, ", "))
	switch {
	case len(list) > 0 && apart:
		return one + ", other than who has started the task"
	case len(list) > 0:
		return one
	case apart:
		return "; it takes somebody else than who has started the task"
	default:
		return ""
	}
}

// NeedProof reports whether it matters who raises a trigger.
func (p People) NeedProof(on stage.Trigger, t Task) bool {
	list, _ := p.Allowed(on)
	return len(list) > 0 || p.Separate && (on == stage.OnApproved || on == stage.OnToAnalyse && t.ID == 0)
}

// check returns the first list with an entry that can name nobody, and why.
func (p People) check() (field, wrong string) {
	for field, list := range map[string][]string{"starters": p.Starters, "approvers": p.Approvers, "releasers": p.Releasers} {
		if field == "approvers" {
			list = append(list, p.AtHost...)
		}
		if slices.ContainsFunc(list, func(s string) bool { return strings.TrimSpace(strings.TrimPrefix(s, rolePrefix)) == "" }) {
			return field, "has an empty entry, want ids of accounts, e-mail addresses, role:NAME, or for approvers host:ACCOUNT"
		}
	}
	return "", ""
}

// rolePrefix marks the entries that name a role of the tracker.
const rolePrefix = "role:"

// Matches reports whether a list names a person.
func Matches(list []string, p tracker.Person) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		if role, ok := strings.CutPrefix(entry, rolePrefix); ok {
			return p.Role != "" && strings.EqualFold(role, p.Role)
		}
		return entry == p.ID || p.Email != "" && strings.EqualFold(entry, p.Email)
	})
}

// DescribesAccounts reports whether a list names somebody by more than an id.
func DescribesAccounts(list []string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		return strings.HasPrefix(entry, rolePrefix) || strings.Contains(entry, "@")
	})
}
