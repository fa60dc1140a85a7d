package simulate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/signalbox-dev/signalbox/internal/simulate"
)

// mutantSeeds is within how many seeds every planted bug is found.
const mutantSeeds = 4000

// everyday are the mutants of the ordinary test run.
func everyday() []string {
	return []string{"second-transaction", "no-fence", "no-quiesce", "cancelled-requeued", "ack-before-store"}
}

// chosen reports whether a mutant is planted in this run: MUTANTS=all takes all of
// them, and MUTANTS=a,b these.
func chosen(name string) bool {
	switch names := os.Getenv("MUTANTS"); names {
	case "":
		return slices.Contains(everyday(), name)
	case "all":
		return true
	default:
		return slices.Contains(strings.Split(names, ","), name)
	}
}

// mended are the mutants that bring back a fault which the simulator has found: their
// worlds are kept in testdata/worlds. WORLDS=1 writes them again.
func mended() []string {
	return []string{
		"questions-swallowed", "old-stop", "own-column-taken-for-a-person", "prepare-in-the-checkout",
		"tidy-without-quiesce", "no-op-without-version", "memory-trusted", "fallback-taken-for-a-person",
	}
}

// keep writes a failing world down: its story, and the world itself.
func keep(t *testing.T, name string, r simulate.Result) {
	t.Helper()
	if name == "" {
		return
	}
	r = simulate.Shrink(r)
	body, err := json.MarshalIndent(r.World, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, []byte(r.Story()+"-- world.json --\n"+string(body)+"\n"), 0o600))
}

// mutant is a bug to plant: a text of one file that is replaced.
type mutant struct{ name, what, file, find, replace string }

// mutants reads testdata/mutants. They exist in tests alone: a mutant is compiled
// with an overlay, and the tree stays as it is.
func mutants(t *testing.T) (out []mutant) {
	t.Helper()
	files, err := filepath.Glob("testdata/mutants/*.txtar")
	require.NoError(t, err)
	for _, name := range files {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		a := txtar.Parse(body)
		require.Len(t, a.Files, 2, name)
		what, file, ok := strings.Cut(strings.TrimSpace(string(a.Comment)), "\nfile: ")
		require.True(t, ok, "%s: want a sentence and file: path", name)
		out = append(out, mutant{
			strings.TrimSuffix(filepath.Base(name), ".txtar"), what, file,
			strings.TrimSuffix(string(a.Files[0].Data), "\n"), strings.TrimSuffix(string(a.Files[1].Data), "\n"),
		})
	}
	return out
}

// Every planted bug is found within some seeds.
func TestMutants(t *testing.T) {
	all := mutants(t)
	require.GreaterOrEqual(t, len(all), 30)
	for _, m := range all {
		m.mutate(t) // it applies still
	}
	if testing.Short() {
		t.Skip("compiles the engine again for each planted bug")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	var rows []row
	for _, m := range all {
		if !chosen(m.name) {
			continue
		}
		seed, found := m.hunt(t)
		if !found.valid {
			t.Errorf("%s: not found within %d seeds: %s", m.name, mutantSeeds, m.what)
			continue
		}
		for _, r := range simulate.Sweep(seed, seed+1, simulate.Limits{}, 1) {
			require.Nil(t, r.Failure, "%s: seed %d breaks %s without the planted bug too", m.name, seed, found.invariant)
		}
		t.Logf("%-32s seed %4d  %s", m.name, seed, found.invariant)
		rows = append(rows, row{m, seed, found.invariant})
	}
	if os.Getenv("MUTANTS") == "all" {
		document(t, "planted bugs", table(rows))
	}
}

// document puts a table between two marks in docs/reliability.md.
func document(t *testing.T, mark, text string) {
	t.Helper()
	const name = "../../docs/reliability.md"
	body, err := os.ReadFile(name)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(body), "<!-- "+mark+" -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end -->")
	require.True(t, found && ended, "%s has no marks for %s", name, mark)
	require.NoError(t, os.WriteFile(name, []byte(before+"<!-- "+mark+" -->\n"+text+"<!-- end -->"+after), 0o600))
}

// row is a line of the table of planted bugs.
type row struct {
	mutant
	seed      uint64
	invariant simulate.Invariant
}

// table is the table of planted bugs for docs/reliability.md.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| planted bug | first seed | found by |\n|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %d | %s |\n", r.name, r.seed, r.invariant)
	}
	return b.String()
}

// mutate returns the mutated file.
func (m mutant) mutate(t *testing.T) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("../..", m.file))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(body), m.find), "%s: %s does not have the text to replace once: bring the mutant up to date", m.name, m.file)
	return strings.Replace(string(body), m.find, m.replace, 1)
}

// found holds the result of the hunt for a mutant.
type found struct {
	valid     bool
	invariant simulate.Invariant
}

// hunt compiles the simulator with the mutant and runs seeds until one fails.
func (m mutant) hunt(t *testing.T) (seed uint64, f found) {
	t.Helper()
	dir := t.TempDir()
	original, err := filepath.Abs(filepath.Join("../..", m.file))
	require.NoError(t, err)
	mutated, overlay, bin := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "simulate.test")
	require.NoError(t, os.WriteFile(mutated, []byte(m.mutate(t)), 0o600))
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, replace, 0o600))
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", bin, ".").CombinedOutput(); err != nil {
		require.NoError(t, err, "%s: %s", m.name, out)
	}
	cmd := exec.CommandContext(t.Context(), bin, "-test.run", "^TestHunt$", "-test.v")
	cmd.Env = append(os.Environ(), "HUNT="+strconv.Itoa(mutantSeeds))
	if slices.Contains(mended(), m.name) && os.Getenv("WORLDS") != "" {
		kept, err := filepath.Abs("testdata/worlds/" + m.name + ".txtar")
		require.NoError(t, err)
		cmd.Env = append(cmd.Env, "HUNT_WORLD="+kept)
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", m.name, out)
	for line := range strings.Lines(string(out)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "caught "); ok {
			number, name, _ := strings.Cut(rest, " ")
			seed, err = strconv.ParseUint(number, 10, 64)
			require.NoError(t, err)
			return seed, found{true, simulate.Invariant(name)}
		}
	}
	return 0, found{}
}

// TestHunt is run by a mutant's own program: it looks for the first seed that fails.
func TestHunt(t *testing.T) {
	most, err := strconv.ParseUint(os.Getenv("HUNT"), 10, 64)
	if err != nil {
		t.Skip("for TestMutants")
	}
	const step = 20
	for from := uint64(0); from < most; from += step {
		for _, r := range simulate.Sweep(from, from+step, simulate.Limits{}, runtime.GOMAXPROCS(0)) {
			if r.Failure != nil {
				fmt.Printf("caught %d %s\n", r.World.Seed, r.Failure.Invariant)
				keep(t, os.Getenv("HUNT_WORLD"), r)
				return
			}
		}
	}
}
