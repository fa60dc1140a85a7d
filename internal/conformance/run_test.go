package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
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
				if _, _, pages := ofPages(t); pages {
					function = name
				}
				if !slices.Contains(out[pkg], function) {
					out[pkg] = append(out[pkg], function)
				}
			}
		}
	}
	return out
}

// ofPages splits the name of a test of the pages, such as "examples/browsertest map.spec.mjs/has a halo".
func ofPages(test string) (spec, title string, ok bool) {
	_, name, _ := strings.Cut(test, " ")
	spec, title, _ = strings.Cut(name, "/")
	return spec, title, strings.HasSuffix(spec, ".spec.mjs")
}

// runTests runs the tests that rows name, package by package, and none from the cache, with the files of an overlay in place of
// those of the tree. The output of what fails goes to log.
func runTests(ctx context.Context, log io.Writer, parts []part, overlay string) (results, error) {
	out := results{}
	all := byPackage(parts)
	for _, pkg := range slices.Sorted(maps.Keys(all)) {
		slices.Sort(all[pkg])
		fmt.Fprintf(log, "%s: %d tests\n", pkg, len(all[pkg]))
		var functions []string
		for _, name := range all[pkg] {
			if _, _, pages := ofPages(pkg + " " + name); !pages {
				functions = append(functions, name)
			} else if err := out.browse(ctx, pkg, name, overlay, log); err != nil {
				return nil, err
			}
		}
		if len(functions) == 0 {
			continue
		}
		names := "^(" + strings.Join(functions, "|") + ")$"
		cmd := exec.CommandContext(ctx, "go", "test", "-json", "-vet=off", "-count=1", "-timeout=20m", "-run", names, "./"+pkg) //nolint:gosec // of rows.txt
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		cmd.Stderr, cmd.Env = log, append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay) // go build within a test has it too
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

// browse runs a test of the pages in Chromium.
func (r results) browse(ctx context.Context, pkg, name, overlay string, log io.Writer) error {
	spec, title, _ := ofPages(pkg + " " + name)
	said, err := os.CreateTemp("", "said-*.json")
	if err != nil {
		return err
	}
	defer os.Remove(said.Name())
	defer said.Close()
	cmd := exec.CommandContext(ctx, "npx", "playwright", "test", spec, "--grep", regexp.QuoteMeta(title), "--reporter=json") //nolint:gosec // of rows.txt
	cmd.Dir, cmd.Stdout, cmd.Stderr = pkg, io.Discard, log
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay, "PLAYWRIGHT_JSON_OUTPUT_NAME="+said.Name())
	ended := cmd.Run() // fails with a test
	var of struct {
		Stats struct{ Expected, Unexpected int }
	}
	if err := json.NewDecoder(said).Decode(&of); err != nil {
		return errors.Join(fmt.Errorf("playwright test %s: %w", name, err), ended)
	}
	switch key := pkg + " " + strings.ReplaceAll(name, " ", "_"); {
	case of.Stats.Unexpected > 0:
		r[key] = "fail"
	case of.Stats.Expected > 0:
		r[key] = "pass"
	}
	return nil
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
		switch key := pkg + " " + e.Test; {
		case e.Test == "":
		case e.Action == "run":
			r[key] = "fail" // until it ends: a panic elsewhere ends its process
		case slices.Contains([]string{"pass", "fail", "skip"}, e.Action):
			r[key] = e.Action
		}
	}
}

// of returns the result of a test that a row names: go test writes names without spaces.
func (r results) of(test string) string {
	pkg, name, _ := strings.Cut(test, " ")
	return r[pkg+" "+strings.ReplaceAll(name, " ", "_")]
}

// why returns why a row does not pass; empty when it does.
func (r results) why(w row) string {
	if len(w.tests) == 0 {
		return "no test drives it"
	}
	for _, t := range w.tests {
		switch r.of(t) {
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
