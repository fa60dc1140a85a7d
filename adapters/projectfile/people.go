package projectfile

import (
	"fmt"
	"regexp"
	"strings"
)

// person names somebody who may speak in a chat. Whoever is listed may say there what a person may on the board.
type person struct {
	Name     string `yaml:"name"`     // as approvers and releasers, and the names of tokens, have it
	Telegram string `yaml:"telegram"` // the number of the account; user names change hands
	Slack    string `yaml:"slack"`    // the member's id, which the profile shows
	Chat     string `yaml:"chat"`     // the account in a chat of ORCH_CHAT_URL
}

// slackID is the id of a member, or nothing.
var slackID = regexp.MustCompile(`^([UW][0-9A-Z]+)?$`)

// accountsOf are the names of people by their accounts; an error comes with the place in the list.
func accountsOf(list []person) (map[string]string, int, error) {
	if len(list) == 0 {
		return nil, 0, nil
	}
	out := map[string]string{}
	for i, p := range list {
		if strings.TrimSpace(p.Name) == "" {
			return nil, i, fmt.Errorf("people: entry %d has no name: write that of the person's token, or the e-mail address", i+1)
		}
		if strings.Trim(p.Telegram, "0123456789") != "" {
			return nil, i, fmt.Errorf("people: %s: telegram is %q, want the number of the account, "+
				"which the bot tells whoever is not listed", p.Name, p.Telegram)
		}
		if !slackID.MatchString(p.Slack) {
			return nil, i, fmt.Errorf("people: %s: slack is %q, want the member's id, such as U0123ABCD", p.Name, p.Slack)
		}
		for chat, id := range map[string]string{"telegram": p.Telegram, "slack": p.Slack, "chat": p.Chat} {
			if other := out[chat+":"+id]; id != "" && other != "" {
				return nil, i, fmt.Errorf("people: %s has the account %s of %s at %s", p.Name, id, other, chat)
			}
			if id != "" {
				out[chat+":"+id] = p.Name
			}
		}
	}
	return out, 0, nil
}
