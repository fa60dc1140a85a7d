// Command signalbox takes cards from a project board to merged and deployed
// commits: one process that takes webhooks, runs agents and shows what it does.
// A repository's first card:
//
//	signalbox init
//	signalbox serve
//
// signalbox help lists its commands, docs/cli.md what each prints.
package main

import (
	"os"

	"github.com/signalbox-dev/signalbox/examples/server/command"
)

func main() { os.Exit(command.Main(os.Args[1:])) }
