package checks

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// testFiles are patterns of the files that tests stand in. Those of Rust stand beside what they test.
func testFiles() []string {
	return []string{
		"**/*_test.*", "**/test_*.py", "**/conftest.py", "**/*.test.*", "**/*.spec.*", "**/*_spec.rb", "**/*Test.*", "**/*Tests.*",
		"**/*IT.java", "**/tests", "**/test", "**/__tests__", "**/spec", "**/*.rs",
	}
}

var (
	// declares finds what begins a test, and its name where it has one.
	declares = regexp.MustCompile(`^\s*(?:` +
		`func (?:\([^)]*\) )?((?:Test|Fuzz|Example)\w*)\(` + // Go
		`|(?:async )?def (test\w*)\(` + // Python
		"|(?:it|test|describe|context|specify|scenario)(?:\\.each\\([^)]*\\))?[ (]\\s*[\"'`](.+?)[\"'`]" + // JavaScript, Ruby
		`|(?:@(?:Test|ParameterizedTest|RepeatedTest)|#\[(?:\w+::)?test\]|\[(?:Fact|Theory|Test|TestMethod)\])` + // Java, Rust, C#
		`)`)
	// skips finds what keeps a test from being run, or all others.
	skips = regexp.MustCompile(`\b[tbf]\.Skip(?:Now|f)?\(|@(?:unittest\.)?(?:skip\w*|expectedFailure)\b` +
		`|\bpytest\.(?:mark\.(?:skip\w*|xfail)|skip|xfail|importorskip)\b|\bself\.skipTest\(|\bmarkTestSkipped\(` +
		`|\b(?:it|test|describe|context|suite)\.(?:skip|only|todo|fixme|failing|skipIf|runIf)\b` +
		"|(?:^|[^.\\w])(?:xit|xtest|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext)[ (]\\s*[\"'`]" +
		`|@(?:Disabled|Ignore)\b|#\[ignore\b|\[Ignore\b|\bSkip\s*=\s*"`)
	// builds finds what may leave a file out: in one that was there before.
	builds = regexp.MustCompile(`^(?://go:build|// \+build) `)
	// media finds files that are binary by nature; any other that git shows as binary has been given a NUL.
	media = regexp.MustCompile(`(?i)\.(?:png|jpe?g|gif|webp|ico|bmp|pdf|zip|t?gz|zst|jar|bin|dat|db|sqlite|pb|wasm|mp[34]|wav|[ot]tf|woff2?)$`)
)

// weakened lists what a branch's changes take away from its tests, each as "path: line". unread lists files with tests
// whose changes are too large to be looked at.
func weakened(files []gates.FileDiff, cut bool) (lines, unread []string) {
	type found struct{ path, line string }
	var taken, skipped []found
	given := map[string]int{} // what begins a test, in any file: tests may move
	moved := map[string]bool{}
	for n, f := range files {
		if !stage.MatchPath(testFiles(), f.Path) {
			continue
		}
		unseen := cut && (f.Text == "" || n == len(files)-1 || files[n+1].Text == "")
		if unseen || strings.Contains(f.Text, "\nBinary files a/") && !media.MatchString(f.Path) {
			unread = append(unread, f.Path)
			continue
		}
		had, tests := map[string]int{}, 0
		deleted, fresh, began := false, false, false
		for line := range strings.Lines(f.Text) {
			line = strings.TrimSuffix(line, "\n")
			if !began && (strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ")) {
				fresh, deleted, began = fresh || line == "--- /dev/null", line == "+++ /dev/null", line[0] == '+'
				continue
			}
			if line == "" || line[0] != '-' && line[0] != '+' {
				continue
			}
			text := strings.TrimSpace(line[1:])
			if name := declares.FindString(line[1:]); name != "" {
				if name = strings.Join(strings.Fields(name), " "); line[0] == '+' {
					given[name]++
				} else {
					taken, tests = append(taken, found{f.Path, name}), tests+1
				}
			}
			if skips.MatchString(text) || !fresh && builds.MatchString(text) {
				if line[0] == '-' {
					had[text]++
				} else if had[text]--; had[text] < 0 {
					skipped = append(skipped, found{f.Path, "+ " + text})
				}
			}
		}
		if !deleted {
			moved[path.Base(f.Path)] = true
		} else if tests == 0 && !strings.HasSuffix(f.Path, ".rs") {
			taken = append(taken, found{f.Path, ""})
		}
	}
	for _, t := range taken {
		if given[t.line]--; t.line != "" && given[t.line] < 0 {
			lines = append(lines, t.path+": - "+t.line)
		} else if t.line == "" && !moved[path.Base(t.path)] {
			lines = append(lines, t.path+": deleted")
		}
	}
	for _, s := range skipped {
		lines = append(lines, s.path+": "+s.line)
	}
	return slices.Compact(lines), unread
}
