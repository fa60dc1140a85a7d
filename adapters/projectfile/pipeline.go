package projectfile

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/internal/yamlplace"
	"github.com/signalbox-dev/signalbox/orchestrator/prompt"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// PipelineName is the file beside the registry that has the stages; without it they are the built-in ones.
const PipelineName = "pipeline.yaml"

// stageEntry is one stage. Of a built-in one only what differs is named.
type stageEntry struct {
	Stage     string   `yaml:"stage"`
	Role      string   `yaml:"role,omitempty"`
	Status    string   `yaml:"status,omitempty"`
	Gates     []string `yaml:"gates,omitempty"`
	Report    string   `yaml:"report,omitempty"`
	Good      []string `yaml:"good,omitempty"`
	Bad       []string `yaml:"bad,omitempty"`
	Artefacts []string `yaml:"artefacts,omitempty"`
	Prompt    string   `yaml:"prompt,omitempty"`
}

// UnmarshalYAML takes the name alone too.
func (e *stageEntry) UnmarshalYAML(raw []byte) error {
	if yaml.Unmarshal(raw, &e.Stage) == nil {
		return nil
	}
	type plain stageEntry
	return yaml.UnmarshalWithOptions(raw, (*plain)(e), yaml.Strict())
}

type stagesFile struct {
	Stages []stageEntry             `yaml:"stages"`
	Lanes  map[string][]stage.Stage `yaml:"lanes,omitempty"`
}

// LoadPipeline reads the stages and lanes of PipelineName beside a registry; the built-in ones, where there is no such file.
func LoadPipeline(registry string) (stage.Pipeline, error) {
	p, err := ReadPipeline(filepath.Join(filepath.Dir(registry), PipelineName))
	if errors.Is(err, fs.ErrNotExist) {
		return stage.Default(), nil
	}
	return p, err
}

// ReadPipeline reads the stages and lanes of a file in the form of PipelineName.
func ReadPipeline(name string) (stage.Pipeline, error) {
	body, err := os.ReadFile(name)
	if err != nil {
		return stage.Pipeline{}, err
	}
	return parsePipeline(name, body)
}

// parsePipeline reads the stages of a pipeline, in their order, and its lanes. Errors name the file and the line.
func parsePipeline(name string, body []byte) (none stage.Pipeline, err error) {
	var f stagesFile
	tree, err := parser.ParseBytes(body, 0)
	if err == nil {
		err = yaml.UnmarshalWithOptions(body, &f, yaml.Strict())
	}
	if err != nil {
		return none, &yamlplace.Error{File: name, Line: yamlplace.Of(err), Err: errors.New(yamlplace.Short(err))}
	}
	var stages []stage.Info
	if f.Stages == nil { // lanes alone, or a file that is being written
		stages = stage.DefaultStages()
	}
	for at, e := range f.Stages {
		stages = append(stages, e.info())
		if err := prompt.Check(e.Prompt); e.Prompt != "" && err != nil {
			line := yamlplace.Line(tree, "stages", at, "prompt")
			return none, &yamlplace.Error{File: name, Line: line, Err: fmt.Errorf("stage %s: prompt: %w", e.Stage, err)}
		}
	}
	if at, err := stage.CheckStages(stages); err != nil {
		return none, &yamlplace.Error{File: name, Line: yamlplace.Line(tree, "stages", at, "stage"), Err: err}
	}
	p := stage.Of(stages...)
	for _, name := range slices.Sorted(maps.Keys(f.Lanes)) {
		p.Lanes = append(p.Lanes, stage.Lane{Name: name, Stages: f.Lanes[name]})
	}
	if at, err := p.CheckLanes(); err != nil {
		return none, &yamlplace.Error{File: name, Line: yamlplace.Line(tree, "lanes."+p.Lanes[at].Name, 0, ""), Err: err}
	}
	return p, nil
}

func (e stageEntry) info() stage.Info {
	i := stage.Default().Info(stage.Stage(e.Stage))
	if i.Stage == "" {
		i = stage.Info{Stage: stage.Stage(e.Stage), Status: stage.StatusInProgress, Gates: []string{checks.Reported}}
		if e.Report == "" {
			i.Gates = []string{checks.DocumentsReady}
		}
		i.Green = "the " + e.Role + " is content"
	}
	set := func(to *string, from string) {
		if from != "" {
			*to = from
		}
	}
	set((*string)(&i.Role), e.Role)
	set((*string)(&i.Status), e.Status)
	set(&i.Report, e.Report)
	set(&i.Prompt, e.Prompt)
	for to, from := range map[*[]string][]string{&i.Gates: e.Gates, &i.Good: e.Good, &i.Bad: e.Bad, &i.Artefacts: e.Artefacts} {
		if from != nil {
			*to = from
		}
	}
	return i
}

// FormatPipeline writes stages and lanes as ParsePipeline reads them.
func FormatPipeline(p stage.Pipeline) ([]byte, error) {
	f := stagesFile{Lanes: map[string][]stage.Stage{}}
	for _, i := range p.Stages {
		if !i.Sink {
			f.Stages = append(f.Stages, stageEntry{
				string(i.Stage), string(i.Role), string(i.Status), i.Gates, i.Report, i.Good, i.Bad, i.Artefacts, i.Prompt,
			})
		}
	}
	for _, l := range p.Lanes {
		f.Lanes[l.Name] = l.Stages
	}
	return yaml.MarshalWithOptions(f, yaml.IndentSequence(true))
}

// lanes are one for all tasks, or by the labels of their cards.
type lanes struct {
	Default string        `yaml:"default"`
	Labels  yaml.MapSlice `yaml:"labels"` // the first that a card has counts
}

// UnmarshalYAML reads both forms.
func (l *lanes) UnmarshalYAML(node ast.Node) error {
	if yaml.NodeToValue(node, &l.Default) == nil {
		return nil
	}
	type form lanes
	return strictly(node, (*form)(l), "pipeline: want the name of a lane such as fix, or {default: full, labels: {bug: fix}}")
}

// convert checks the names.
func (l lanes) convert(p stage.Pipeline) (task.Lanes, error) {
	out := task.Lanes{Default: l.Default}
	for _, by := range l.Labels {
		out.Labels = append(out.Labels, task.LabelLane{Label: fmt.Sprint(by.Key), Lane: fmt.Sprint(by.Value)})
	}
	return out, out.Check(p)
}

// checkRole refuses roles that nobody has in the pipeline.
func checkRole(p stage.Pipeline, role string) error {
	if !p.Has(stage.Role(role)) {
		return fmt.Errorf("there is no role %q", role)
	}
	return nil
}
