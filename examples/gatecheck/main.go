// Command gatecheck judges a checkout with the built-in gates, offline: before a
// push, in a hook, or to try a gate of one's own.
//
//	gatecheck --work-item GPX-42 check_tests_passed      judge the checkout in .
//	gatecheck --fixtures 'cases/*.json'                  run fixture cases
//
// Exit codes: 0 green, 1 red, 3 not decided or not judgeable, 2 wrong use.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/gates/fixture"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// cli is the command line.
type cli struct {
	Dir         string   `help:"The checkout." default:"." type:"existingdir"`
	WorkItem    string   `help:"Whose artefacts to judge, such as GPX-42: docs/work/<work item>/."`
	SHA         string   `help:"The commit that reports must name; default: HEAD of the checkout."`
	Deployed    string   `help:"The commit that was merged, for check_deploy_status."`
	Title       string   `help:"For qg0."`
	Description string   `help:"For qg0."`
	Report      string   `help:"A role's report, such as tester=report.md."`
	ApprovedBy  string   `help:"Who has approved, for check_analysis_approved."`
	CINone      bool     `help:"The repository declares that it has no CI." name:"ci-none"`
	Fixtures    string   `help:"Run the cases of these JSON files instead, such as 'cases/*.json'."`
	Checks      []string `arg:"" optional:"" help:"Gates to judge."`
}

// Exit codes.
const (
	exitGreen = iota
	exitRed
	exitUse
	exitUndecided
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with everything passed in.
func run(args []string, out, errs io.Writer) int {
	var c cli
	exit := -1
	parser, err := kong.New(&c, kong.Name("gatecheck"), kong.Description("Judge a checkout with deterministic gates, offline."),
		kong.Writers(out, errs), kong.Exit(func(code int) { exit = code }))
	if err == nil {
		_, err = parser.Parse(args)
	}
	if exit >= 0 {
		return exit
	}
	var registry *gates.Registry
	if err == nil {
		registry, err = gates.NewRegistry(checks.All(os.Getenv)...)
	}
	if err != nil {
		fmt.Fprintln(errs, "gatecheck:", err)
		return exitUse
	}
	if c.Fixtures != "" {
		return c.fixtures(registry, out, errs)
	}
	if len(c.Checks) == 0 {
		fmt.Fprintln(errs, "gatecheck: name a gate:", strings.Join(registry.Names(), ", "))
		return exitUse
	}
	return c.judge(registry, out, errs)
}

func (c cli) judge(registry *gates.Registry, out, errs io.Writer) int {
	sha := c.SHA
	if sha == "" {
		head, err := exec.Command("git", "-C", c.Dir, "rev-parse", "--verify", "--quiet", "HEAD").Output()
		if err != nil {
			fmt.Fprintln(errs, "gatecheck: the checkout has no HEAD: give --sha")
			return exitUse
		}
		sha = strings.TrimSpace(string(head))
	}
	s := gates.Facts{
		SHA: sha, Deployed: c.Deployed, Tree: os.DirFS(c.Dir), Policy: gates.Policy{CINone: c.CINone},
		Task: gates.Task{WorkItem: c.WorkItem, Title: c.Title, Description: c.Description, Docs: "docs/work/" + c.WorkItem},
	}
	if c.Report != "" {
		role, name, _ := strings.Cut(c.Report, "=")
		text, err := os.ReadFile(name)
		if err != nil {
			fmt.Fprintln(errs, "gatecheck: --report is to be role=file:", err)
			return exitUse
		}
		s.Filed = gates.ParseReport(stage.Role(role), 0, string(text))
	}
	if c.ApprovedBy != "" {
		s.Approval.Issuer = stage.IssuerPerson + c.ApprovedBy
	}
	v := registry.Judge(context.Background(), s, c.Checks...)
	if err := gates.Print(out, v); err != nil {
		return exitUse
	}
	switch v.Outcome {
	case gates.Green:
		return exitGreen
	case gates.Red:
		return exitRed
	default:
		return exitUndecided
	}
}

// fixtures runs cases and reports those whose verdict is not the expected one.
func (c cli) fixtures(registry *gates.Registry, out, errs io.Writer) int {
	dir, pattern := filepath.Split(c.Fixtures)
	dir = cmp.Or(dir, ".")
	cases, err := fixture.Read(os.DirFS(dir), pattern)
	if err != nil {
		fmt.Fprintln(errs, "gatecheck:", err)
		return exitUse
	}
	wrong := 0
	for _, one := range cases {
		if _, err := one.Run(context.Background(), registry); err != nil {
			wrong++
			fmt.Fprintf(out, "%s %s: %v\n", one.Check, one.Name, err)
		}
	}
	fmt.Fprintf(out, "%d cases, %d wrong\n", len(cases), wrong)
	if wrong > 0 {
		return exitRed
	}
	return exitGreen
}
