// Command server is the reference deployment of signalbox: one process that
// takes webhooks, runs agents and shows what it does. Its builds and releases are
// called signalbox; go install calls it server, which works as well, and
// completion and what commands print find it by a link:
//
//	ln -s server "$(go env GOPATH)/bin/signalbox"
//
//	signalbox init         set a repository up
//	signalbox serve        take webhooks and work
//	signalbox config       every setting with value, default and origin
//	signalbox validate     check the settings, the project registry and the pipeline
//	signalbox doctor       examine a deployment: tokens, board columns, git, disk
//	signalbox doctor security   attack it as an agent would, and say what holds
//	signalbox tasks        the tasks that have not ended
//	signalbox show <task>  one of them, with its runs and its story
//	signalbox queue        what is under way, and what everything else waits for
//	signalbox logs <task>  what an agent does or has done
//	signalbox costs        what agents have cost
//	signalbox approve <task>, reject <task>, confirm <task>, stop <task>, retry <task>, undo <task>
//	signalbox pause        let no agent start; unpause, drain
//	signalbox why <task>   why a task stands where it stands
//	signalbox unfreeze     let the tasks of a frozen repository begin again
//	signalbox resume       use a paused agent again
//	signalbox reload       have the server read settings and registry again
//	signalbox deps         what a task waits for: list, add, remove
//	signalbox backup       copy what a server keeps, while it runs
//	signalbox restore      put a backup in its place
//	signalbox copy         fill a PostgreSQL with what the SQLite file keeps
//	signalbox token        tokens of people and programs: add, list, revoke
//	signalbox session      who has signed in: list, revoke
//	signalbox tracks       hide places and take tracks away: hide, unhide, remove, readmit; export
//	signalbox audit        prove that the journal is as it was written: verify, export
//	signalbox replay       decide every journal again
package main

import (
	"os"

	"github.com/signalbox-dev/signalbox/examples/server/command"
)

func main() { os.Exit(command.Main(os.Args[1:])) }
