// Command server is the reference deployment of signalbox: the program of the
// module's root, with what packages, runs and watches it beside it.
package main

import (
	"os"

	"github.com/signalbox-dev/signalbox/examples/server/command"
)

func main() { os.Exit(command.Main(os.Args[1:])) }
