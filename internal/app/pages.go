package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
)

// links are entries of the dashboard's navigation.
type links []dashboard.Link

// UnmarshalText reads name=address pairs. A comma in an address is written %2C.
func (l *links) UnmarshalText(text []byte) error {
	*l = nil
	for pair := range strings.SplitSeq(string(text), ",") {
		name, address, _ := strings.Cut(pair, "=")
		link := dashboard.Link{Name: strings.TrimSpace(name), URL: strings.TrimSpace(address)}
		if err := link.Check(); err != nil {
			return fmt.Errorf("%q, want name=address such as Board=https://board.example.org/: %w", pair, err)
		}
		*l = append(*l, link)
	}
	return nil
}

// hosts are the names that requests may come under; nil: any.
func (s Settings) hosts() []string {
	if slices.Contains(s.Hosts, "*") {
		return nil
	}
	return append([]string{"localhost"}, s.Hosts...)
}
