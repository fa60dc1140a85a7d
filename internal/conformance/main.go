// Command conformance compares the service with its specification: each row is a
// sentence of it, with the tests that drive that from outside. It runs exactly
// those tests and prints the rows with what came of them.
//
//	go run ./internal/conformance             run, print; exit code 1 unless every row passes
//	go run ./internal/conformance -part stop  the parts whose name contains this
//	go run ./internal/conformance -write      write docs/conformance.md
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// document is written from the rows.
const document = "docs/conformance.md"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := command(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// command does what the command line says, in the module's root.
func command(ctx context.Context, args []string) (ok bool, err error) {
	flags := flag.NewFlagSet("conformance", flag.ExitOnError)
	write := flags.Bool("write", false, "write "+document)
	only := flags.String("part", "", "only the parts whose name contains this")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if *write {
		text, err := render(os.DirFS("."), specification())
		if err != nil {
			return false, err
		}
		return true, os.WriteFile(document, []byte(text), 0o644) //nolint:gosec // a page of the documentation
	}
	var parts []part
	for _, p := range specification() {
		if strings.Contains(strings.ToLower(p.name), strings.ToLower(*only)) {
			parts = append(parts, p)
		}
	}
	r, err := runTests(ctx, os.Stderr, parts)
	if err != nil {
		return false, err
	}
	return r.print(os.Stdout, parts), nil
}
