package conformance

// row is a sentence of the specification.
type row struct {
	id      string
	section string // of the specification
	text    string
	tests   []string // "package TestName" or "package TestName/part of it"
}

// part groups the rows that are counted together.
type part struct {
	name string
	rows []row
}

// Packages with the tests.
const (
	server  = "examples/server "
	wires   = "internal/app "
	engine  = "orchestrator "
	tasks   = "orchestrator/task "
	web     = "orchestrator/web "
	gate    = "gates/checks "
	board   = "adapters/plane "
	host    = "adapters/github "
	chat    = "adapters/telegram "
	agents  = "adapters/agentcli "
	printed = "adapters/agentcli/agentout "
	git     = "adapters/gitcli "
	lease   = "adapters/filelease "
	store   = "adapters/sqlite "
	tracks  = "adapters/tracksqlite "
	reg     = "adapters/projectfile "

	feature = "orchestrator/features/" // and the feature's name
)

// specification are all rows.
func specification() []part {
	return []part{
		{"What the service does", serviceRows()}, {"Task fields", taskRows()}, {"Jobs, runs and records", recordRows()}, {"Settings", settingRows()},
		{"Transitions", transitionRows()}, {"Board statuses", statusRows()}, {"Rules of the board", ruleRows()},
		{"STOP", stopRows()}, {"Serial gate", serialRows()}, {"Dependencies", dependencyRows()}, {"Merge gate", mergeRows()},
		{"Reconciler", reconcilerRows()}, {"Endpoints", endpointRows()}, {"Authentication", authRows()},
		{"Events in", inRows()}, {"Events out", outRows()}, {"Errors", errorRows()}, {"Limits", limitRows()}, {"Versioning", versionRows()},
		{"Track layer", trackRows()},
	}
}
