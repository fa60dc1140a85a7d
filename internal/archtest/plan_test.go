package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Module is the path of this module.
const Module = "github.com/signalbox-dev/signalbox"

// room is a package, or with a trailing slash a tree of packages, and its floor.
// Imports point down: to a lower floor, or to a package of the same floor that
// the plan names as its neighbour.
type room struct {
	path       string
	floor      int
	neighbours []string
}

// floors has a floor and its rooms in each line, the most exact path first; behind a room are its neighbours. Agent commands and hosts
// are checked where a project file names them, the gateway to models is a link of its executions, the stores are one engine in two
// dialects, and labels are over the issues of a host.
const floors = `
6 .
0 orchestrator/stage gpstracks orchestrator/signature orchestrator/fault
1 orchestrator/fault/memfault orchestrator/prompt gpstracks/tile gpstracks/gpx gpstracks/trackfile(gpstracks/gpx)
1 gpstracks/web gpstracks/sample
2 gpstracks/trackhttp gpstracks/mappage gpstracks/collect gpstracks/export(gpstracks/trackhttp)
1 githost tracker messenger queue queue/lease orchestrator/work orchestrator/secret gates(githost)
2 queue/memqueue queue/lease/memlease tracker/memtracker tracker/cards tracker/mux tracker/cardlist githost/memhost
2 messenger/memmessenger gates/checks gates/fixture orchestrator/work/memwork orchestrator/task(gates/checks)
2 orchestrator/admit(orchestrator/task)
3 orchestrator orchestrator/effects(orchestrator) orchestrator/admin(orchestrator)
3 orchestrator/explain(orchestrator,orchestrator/admin)
2 orchestrator/receipt(orchestrator/task)
3 orchestrator/follow(orchestrator) orchestrator/documents(orchestrator,orchestrator/explain,orchestrator/follow)
2 orchestrator/web/limit orchestrator/web/access(orchestrator/web/limit)
3 internal/intercept
5 internal/simulate/sim
3 orchestrator/memstore orchestrator/features/(orchestrator,orchestrator/admin)
4 adapters/gpsfile(internal/yamlplace) adapters/projectfile(adapters/agentcli,adapters/egress,internal/yamlplace)
4 adapters/credential(adapters/agentcli) adapters/egress(adapters/agentcli) adapters/agentcli/agentout
4 adapters/agentcli(internal/jail,adapters/agentcli/agentout) adapters/gitcli(internal/jail)
4 adapters/modelgateway(adapters/agentcli,adapters/agentcli/agentout) adapters/sqlite(internal/sqlstore)
4 adapters/postgres(internal/sqlstore,internal/pgerror) adapters/tracksqlite(internal/trackstore)
4 adapters/trackpostgres(internal/trackstore,internal/pgerror) adapters/github(internal/restclient,adapters/labelboard)
4 adapters/gitea(internal/restclient,adapters/labelboard) adapters/plane(internal/restclient)
4 adapters/slack(internal/restclient) internal/forgetest(internal/fakehttp) adapters/labelboard(internal/restclient)
4 adapters/telegram(internal/restclient) adapters/
2 internal/proposal
5 internal/app internal/setup(internal/app) examples/(internal/app,internal/setup)
-1 internal/allowance internal/defaults internal/run internal/run/virtual(internal/run)
4 internal/jail internal/jail/attack(internal/jail) internal/yamlplace internal/jail/jailtest(internal/jail)
4 internal/trackstore internal/pgerror internal/sqlstore internal/sqlstore/sqlstoretest internal/fakehttp
4 internal/planetest(internal/fakehttp) internal/telegramtest(internal/fakehttp) internal/modeltest internal/oidctest
4 internal/pgtest internal/restclient
2 internal/post
-1 internal/apidoc
5 internal/archtest internal/conformance
`

// plan reads the floors, and adds those who put many others together.
var plan = sync.OnceValue(func() []room {
	out := []room{
		{"orchestrator/web", 3, shown()}, {"orchestrator/web/dashboard", 3, shown()}, {"internal/simulate", 3, simulated()},
		{"orchestrator/service", 3, assembled()}, {"orchestrator/features", 3, featured()},
	}
	for line := range strings.Lines(strings.TrimSpace(floors)) {
		rooms := strings.Fields(line)
		floor, err := strconv.Atoi(rooms[0])
		if err != nil {
			panic(err)
		}
		for _, r := range rooms[1:] {
			name, beside, _ := strings.Cut(strings.TrimSuffix(r, ")"), "(")
			out = append(out, room{name, floor, strings.Split(beside, ",")})
		}
	}
	return out
})

// featured are the features that their table puts in order.
func featured() []string {
	out := []string{"orchestrator", "orchestrator/admin"}
	for _, f := range strings.Fields(`afterdone agentpause budget deps livemessage mergegate monitor reconcile remotes retention
		serialgate signals stop subscriber traces waitcomment wip`) {
		out = append(out, "orchestrator/features/"+f)
	}
	return out
}

// simulated are the packages of its own floor that the simulator puts together, as
// the reference server does.
func simulated() []string {
	return append(featured(), "orchestrator/effects", "orchestrator/explain", "orchestrator/features", "orchestrator/memstore", "orchestrator/web", "internal/intercept")
}

// shown are the packages of its own floor that the API and the pages are made of.
func shown() []string {
	return strings.Fields(`orchestrator orchestrator/admin orchestrator/documents orchestrator/explain orchestrator/follow`)
}

// assembled are the packages of its own floor that the service puts together; adapters are none.
func assembled() []string {
	return strings.Fields(`orchestrator orchestrator/admin orchestrator/effects orchestrator/explain orchestrator/features orchestrator/follow
		orchestrator/web orchestrator/web/dashboard`)
}

// suites are packages that only tests import; they may use test libraries.
func suites() []string {
	return strings.Fields(`internal/apidoc internal/forgetest/forgekit internal/gittest internal/jail/jailtest queue/queuetest queue/historytest
		queue/lease/leasetest tracker/trackertest githost/hosttest messenger/messengertest gates/gatestest orchestrator/storetest
		orchestrator/orchestratortest gpstracks/storetest orchestrator/work/worktest orchestrator/fault/faulttest
		internal/sqlstore/sqlstoretest orchestrator/web/access/accesstest`)
}

// exceptions are the imports that a package may have against its floor's rule,
// each for the reason beside it.
func exceptions() map[string][]string {
	const orb = "github.com/paulmach/orb" // its root package is geometry types that are common to Go map programs, and links nothing
	return map[string][]string{
		"orchestrator/fault":  {"context"},      // its two errors, the ends of a time limit and of the program
		"gpstracks":           {orb, "context"}, // the port of the store ends its queries with their request
		"gpstracks/tile":      {orb},
		"gpstracks/sample":    {orb},
		"gpstracks/gpx":       {orb},
		"gpstracks/collect":   {orb},
		"gpstracks/export":    {orb},
		"gpstracks/trackfile": append(fitPackages(), orb),
		"gpstracks/trackhttp": {
			orb,
			"github.com/hashicorp/golang-lru/v2", // the tile cache: small, without dependencies of its own, and used everywhere
			"github.com/andybalholm/brotli",      // a coding that every browser takes: pure Go, without dependencies
			"github.com/klauspost/compress/gzip", // half of a cold tile is its compression
			"golang.org/x/sync/singleflight",     // many requests of one tile cost one query
		},
	}
}

// fitPackages are those of the decoder of FIT, a binary format of 200 messages that a
// maker of receivers goes on changing.
func fitPackages() (out []string) {
	for _, pkg := range []string{
		"decoder", "kit/datetime", "profile/basetype", "profile/factory",
		"profile/typedef", "profile/untyped/fieldnum", "profile/untyped/mesgnum", "proto",
	} {
		out = append(out, "github.com/muktihari/fit/"+pkg)
	}
	return out
}

// thirdParty are the modules that a package above floor 3 may use; below it,
// none: an importer of a port gets nothing else.
func thirdParty(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return strings.Contains(first, ".") && !strings.HasPrefix(imp, Module)
}

// Violation is one broken rule.
type Violation struct {
	File string
	Line int
	Text string
}

// String is the violation as a compiler would print it.
func (v Violation) String() string { return fmt.Sprintf("%s:%d: %s", v.File, v.Line, v.Text) }

// Check reads every Go file of the module at root and returns what breaks a rule.
func Check(root fs.FS) ([]Violation, error) {
	var out []Violation
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if n := d.Name(); d.IsDir() && name != "." && (n[0] == '.' || n == "testdata" || n == "node_modules" || isModule(root, name)) {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(name) != ".go" {
			return nil
		}
		body, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		found, err := checkFile(name, body)
		out = append(out, found...)
		return err
	})
	slices.SortFunc(out, func(a, b Violation) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	return out, err
}

// isModule reports a module of its own, which nothing here depends on.
func isModule(root fs.FS, dir string) bool {
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	return err == nil
}

// linesMax is the length of a file that can be read in one go.
const linesMax = 400

// file is a file under examination.
type file struct {
	name, pkg string // pkg is the directory
	test      bool   // a test, or a suite that only tests import
	fset      *token.FileSet
	ast       *ast.File
	found     []Violation
}

func (f *file) report(at token.Pos, format string, args ...any) {
	f.found = append(f.found, Violation{f.name, f.fset.Position(at).Line, fmt.Sprintf(format, args...)})
}

func checkFile(name string, body []byte) ([]Violation, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, body, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	pkg := path.Dir(filepath.ToSlash(name))
	f := &file{name: name, pkg: pkg, fset: fset, ast: parsed, test: strings.HasSuffix(name, "_test.go") || slices.Contains(suites(), pkg)}
	if lines := strings.Count(string(body), "\n"); lines > linesMax {
		f.found = append(f.found, Violation{name, lines, fmt.Sprintf("has %d lines: divide it, %d read in one go", lines, linesMax)})
	}
	for _, word := range []string{"utils", "util", "common", "helpers", "helper", "models", "manager", "misc"} {
		if slices.Contains(strings.Split(strings.TrimSuffix(name, ".go"), "/"), word) {
			f.report(parsed.Package, "%q says nothing: name it after what it holds", word)
		}
	}
	f.imports()
	f.comments()
	if !f.test {
		f.statements()
		f.declarations()
		if behindDoor(pkg) {
			f.door()
		}
	}
	return f.found, nil
}

// floorOf finds a package in the plan.
func floorOf(pkg string) (room, bool) {
	for _, r := range plan() {
		if r.path == pkg || strings.HasSuffix(r.path, "/") && strings.HasPrefix(pkg, r.path) {
			return r, true
		}
	}
	return room{}, false
}

func (f *file) imports() {
	if f.pkg == "orchestrator/orchestratortest" && !strings.HasSuffix(f.name, "_test.go") {
		f.rig()
	}
	if f.test {
		return
	}
	here, ok := floorOf(f.pkg)
	if !ok {
		f.report(f.ast.Package, "the package is not on the floor plan: give it a room in internal/archtest")
		return
	}
	for _, spec := range f.ast.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		f.oneImport(spec, here, imp)
	}
}

func (f *file) oneImport(spec *ast.ImportSpec, here room, imp string) {
	if own, ok := strings.CutPrefix(imp, Module+"/"); ok {
		f.ownImport(spec, here, own)
		return
	}
	switch {
	case slices.Contains(exceptions()[f.pkg], imp):
	case thirdParty(imp) && here.floor < 4:
		f.report(spec.Pos(), "imports %s: third-party code lives on floors 4 and 5, so that a port brings nothing else along", imp)
	case here.floor == 0 && slices.Contains([]string{"os", "net", "net/http", "context", "sync", "log/slog", "database/sql"}, imp):
		f.report(spec.Pos(), "imports %s: floor 0 is pure", imp)
	case imp == "testing":
		f.report(spec.Pos(), "imports testing: a program that uses this package would carry the test framework")
	case (imp == "log" || imp == "math/rand") && here.floor < 5:
		f.report(spec.Pos(), "imports %s: log with slog, and draw chance from math/rand/v2 with a seed", imp)
	}
}

// half is the half of the module that a package is of: "" for those of both and of neither.
func half(pkg string) string {
	of := func(trees ...string) bool {
		return slices.ContainsFunc(trees, func(tree string) bool { return pkg == tree || strings.HasPrefix(pkg, tree+"/") })
	}
	switch {
	case of("internal/pgtest"):
		return ""
	case of("gpstracks", "internal/trackstore", "adapters/tracksqlite", "adapters/trackpostgres", "adapters/gpsfile", "adapters/osm", "adapters/mbtiles"):
		return "tracks"
	case of("orchestrator", "queue", "gates", "tracker", "githost", "messenger", "internal/sqlstore", "adapters/sqlite", "adapters/postgres"):
		return "tasks"
	}
	return ""
}

// rig looks for features in the engine's test rig, which their own tests import.
func (f *file) rig() {
	for _, spec := range f.ast.Imports {
		if strings.HasPrefix(strings.Trim(spec.Path.Value, `"`), Module+"/orchestrator/features/") {
			f.report(spec.Pos(), "imports %s: the rig takes features as values, so that each feature's tests can use it", spec.Path.Value)
		}
	}
}

func (f *file) ownImport(spec *ast.ImportSpec, here room, own string) {
	if slices.Contains(suites(), own) {
		f.report(spec.Pos(), "imports the suite %s: only tests do", own)
		return
	}
	if mine, other := half(f.pkg), half(own); mine != "" && other != "" && mine != other {
		f.report(spec.Pos(), "imports %s: the %s do without the %s, so that who embeds one half does not carry the other", own, mine, other)
		return
	}
	there, ok := floorOf(own)
	inside := strings.HasPrefix(own, f.pkg+"/") || strings.HasPrefix(f.pkg, own+"/") && here.floor >= 4 && here.path == there.path
	switch {
	case !ok:
		f.report(spec.Pos(), "imports %s, which is not on the floor plan", own)
	case there.floor < here.floor, slices.Contains(here.neighbours, own):
	case inside && strings.HasPrefix(f.pkg, "examples/"):
	default:
		f.report(spec.Pos(), "imports %s (floor %d) from floor %d: imports point down", own, there.floor, here.floor)
	}
}
