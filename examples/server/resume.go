package main

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

type resumeCmd struct {
	Agent string `arg:"" help:"The agent, as the queue names it: a preset or a command line."`
	client
}

// Run ends the pause of an agent; it needs ORCH_ADMIN_TOKEN.
func (c resumeCmd) Run(s *streams) error {
	var out web.Resumed
	if err := c.call(http.MethodPost, "/agents/"+url.PathEscape(c.Agent)+"/resume", nil, &out); err != nil {
		return err
	}
	if !out.WasPaused {
		fmt.Fprintf(s.out, "%s is not paused\n", c.Agent)
		return nil
	}
	fmt.Fprintf(s.out, "%s is used again\n", c.Agent)
	return nil
}
