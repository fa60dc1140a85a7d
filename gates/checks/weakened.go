package checks

import (
	"fmt"
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
		"**/*.rs", "**/*_test.*", "**/test_*.py", "**/conftest.py", "**/*.test.*", "**/*.spec.*", "**/*_spec.rb", "**/*Test.*",
		"**/*Tests.*", "**/*IT.java", "**/tests", "**/test", "**/__tests__", "**/spec",
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
	media = regexp.MustCompile(`(?i)\.(?:png|jpe?g|gif|webp|ico|bmp|pdf|zip|t?gz|zst|jar|bin|dat|db|sqlite|pb|wasm|mp[34]|[ot]tf|woff2?)$`)
)

// runnersOf names those that take a file with tests, by its name and place; none is empty.
func runnersOf(file string) string {
	n := slices.IndexFunc(testFiles(), func(pattern string) bool { return stage.MatchPath([]string{pattern}, file) })
	if n < 0 {
		return ""
	}
	return fmt.Sprint(n, path.Ext(file), strings.Contains(file, "testdata/"))
}

// weakened lists what a branch's changes take away from its tests, each as "path: line". unread lists files with tests
// whose changes are too large to be looked at.
func weakened(files []gates.FileDiff, cut bool) (lines, unread []string) {
	type found struct{ line, test string }
	var taken []found
	var skipped []string
	given := map[string]int{} // tests by what begins them, in any file of the same runners, and files: they may move
	for n, f := range files {
		by := runnersOf(f.Path)
		if by == "" {
			continue
		}
		if cut && (f.Text == "" || n == len(files)-1 || files[n+1].Text == "") ||
			strings.Contains(f.Text, "\nBinary files a/") && !media.MatchString(f.Path) {
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
					given[by+name]++
				} else {
					taken, tests = append(taken, found{f.Path + ": - " + name, by + name}), tests+1
				}
			}
			if skips.MatchString(text) || !fresh && builds.MatchString(text) {
				if line[0] == '-' {
					had[text]++
				} else if had[text]--; had[text] < 0 {
					skipped = append(skipped, f.Path+": + "+text)
				}
			}
		}
		if !deleted {
			given[path.Base(f.Path)]++
		} else if tests == 0 && !strings.HasSuffix(f.Path, ".rs") {
			taken = append(taken, found{f.Path + ": deleted", path.Base(f.Path)})
		}
	}
	for _, t := range taken {
		if given[t.test]--; given[t.test] < 0 {
			lines = append(lines, t.line)
		}
	}
	return slices.Compact(append(lines, skipped...)), unread
}
