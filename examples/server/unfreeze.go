package main

import (
	"fmt"
	"net/http"

	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

type unfreezeCmd struct {
	Repo string `arg:"" help:"The repository, as owner/name."`
	client
}

// Run ends the freeze of a repository; it needs the right releaser.
func (c unfreezeCmd) Run(s *streams) error {
	var out web.Unfrozen
	if err := c.call(http.MethodPost, "/serial-gate/unfreeze", map[string]string{"repo": c.Repo}, &out); err != nil {
		return err
	}
	if !out.WasFrozen {
		fmt.Fprintf(s.out, "%s is not frozen\n", out.Repo)
		return nil
	}
	fmt.Fprintf(s.out, "%s is not frozen any more; it was because %s\n", out.Repo, out.Reason)
	return nil
}
