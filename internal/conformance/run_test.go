package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// results holds the results of tests: pass, fail or skip by "package TestName/sub". A test
// that is not in it has not run.
type results map[string]string

// event is a line of go test -json.
type event struct {
	Action, Test, Output string
}

// byPackage are the test functions that rows name, by package.
func byPackage(parts []part) map[string][]string {
	out := map[string][]string{}
	for _, p := range parts {
		for _, r := range p.rows {
			for _, t := range r.tests {
				pkg, name, _ := strings.Cut(t, " ")
				function, _, _ := strings.Cut(name, "/")
				if !slices.Contains(out[pkg], function) {
					out[pkg] = append(out[pkg], function)
				}
			}
		}
	}
	return out
}

// runTests runs the tests that rows name, package by package, and none from the cache.
// The output of what fails goes to log.
func runTests(ctx context.Context, log io.Writer, parts []part) (results, error) {
	out := results{}
	all := byPackage(parts)
	for _, pkg := range slices.Sorted(maps.Keys(all)) {
		slices.Sort(all[pkg])
		fmt.Fprintf(log, "%s: %d tests\n", pkg, len(all[pkg]))
		names := "^(" + strings.Join(all[pkg], "|") + ")$"
		cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count=1", "-timeout=20m", "-run", names, "./"+pkg) //nolint:gosec // names of this program
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		cmd.Stderr = log
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		readErr := out.read(stdout, pkg, log)
		err = cmd.Wait()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || ctx.Err() != nil || readErr != nil {
			return nil, errors.Join(err, ctx.Err(), readErr)
		}
	}
	return out, nil
}

// read takes the events of a package's tests.
func (r results) read(from io.Reader, pkg string, log io.Writer) error {
	said := map[string]string{}
	for d := json.NewDecoder(from); ; {
		var e event
		switch err := d.Decode(&e); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("go test -json of %s: %w", pkg, err)
		}
		switch e.Action {
		case "output", "build-output":
			said[e.Test] += e.Output
		case "pass", "skip":
			delete(said, e.Test)
		case "fail":
			fmt.Fprint(log, said[e.Test])
		}
		if e.Test != "" && slices.Contains([]string{"pass", "fail", "skip"}, e.Action) {
			r[pkg+" "+e.Test] = e.Action
		}
	}
}

// why returns why a row does not pass; empty when it does.
func (r results) why(w row) string {
	if len(w.tests) == 0 {
		return "no test drives it"
	}
	for _, t := range w.tests {
		pkg, name, _ := strings.Cut(t, " ")
		switch r[pkg+" "+strings.ReplaceAll(name, " ", "_")] { // as go test writes names
		case "pass":
		case "fail":
			return t + " failed"
		case "skip":
			return t + " was skipped"
		default:
			return "nothing ran under the name " + t
		}
	}
	return ""
}

// print writes the matrix with counts, and reports whether every row passes.
func (r results) print(to io.Writer, parts []part) bool {
	passed, rows := 0, 0
	for _, p := range parts {
		fmt.Fprintf(to, "\n%s\n", p.name)
		for _, w := range p.rows {
			rows++
			why := r.why(w)
			if why == "" {
				passed++
				fmt.Fprintf(to, "  PASS  %-28s %s\n", w.id, w.text)
				continue
			}
			fmt.Fprintf(to, "  FAIL  %-28s %s\n        %-28s ! %s\n", w.id, w.text, "", why)
		}
	}
	fmt.Fprintf(to, "\n%d rows: %d pass, %d fail; %d tests\n", rows, passed, rows-passed, len(named(parts)))
	return passed == rows && rows > 0
}

// named are the tests that rows name, each once.
func named(parts []part) map[string]bool {
	out := map[string]bool{}
	for _, p := range parts {
		for _, w := range p.rows {
			for _, t := range w.tests {
				out[t] = true
			}
		}
	}
	return out
}
