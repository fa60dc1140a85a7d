package orchestrator

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/signalbox-dev/signalbox/queue"
)

// WaitText is the reason of a hold for people: other tasks by the names of their work items.
func WaitText(r queue.Reason) string {
	text := taskNumber.ReplaceAllString(ReasonText(r), "")
	if strings.HasPrefix(text, "waits for ") {
		return text
	}
	return "waits: " + text
}

var taskNumber = regexp.MustCompile(` \(task \d+\)`)

// ReasonText returns the reason of a hold, without its name.
func ReasonText(r queue.Reason) string {
	return strings.TrimSuffix(r.Text, fmt.Sprintf(" (%s)", strings.ReplaceAll(r.Name, "_", " "))) // as package queue writes it
}
