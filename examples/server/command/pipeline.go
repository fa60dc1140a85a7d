package command

import (
	"encoding/json"
	"io"
	"os"

	"github.com/goccy/go-yaml"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/internal/app"
)

type pipelineCmd struct {
	Table bool `help:"Print the transition table in its place."`
	output
}

// Run prints the pipeline beside the registry, else the built-in one.
func (c pipelineCmd) Run(s *streams) error {
	settings, err := app.Load(os.Environ())
	if err != nil {
		return err
	}
	p, err := projectfile.LoadPipeline(settings.Projects)
	if err != nil {
		return err
	}
	text, err := projectfile.FormatPipeline(p)
	if err != nil {
		return err
	}
	same, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	return c.print(s.out, json.RawMessage(same), func(w io.Writer) error {
		if c.Table {
			return p.Print(w)
		}
		_, err := w.Write(text)
		return err
	})
}
