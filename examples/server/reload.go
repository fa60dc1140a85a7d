package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

type reloadCmd struct{ client }

// Run has the server read its settings and project registry again; it needs the right admin.
func (c reloadCmd) Run(s *streams) error {
	var out web.Reloaded
	if err := c.call(http.MethodPost, "/admin/reload", nil, &out); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "projects: %d\n", out.Projects)
	for i, names := range [][]string{out.Added, out.Removed, out.Settings, out.Restart} {
		if len(names) > 0 {
			fmt.Fprintf(s.out, "%s: %s\n", []string{"added", "removed", "settings", "needs a restart"}[i], strings.Join(names, ", "))
		}
	}
	return nil
}
