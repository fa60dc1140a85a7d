// Package orchestrator is the engine: it takes work items from a tracker through a
// pipeline of stages, where agents work and gates judge, to a merge and a deployment.
//
// The engine holds no state of tasks in memory. What it decides is in the store when a
// transaction ends, so a process can die at any moment, and several processes can share
// one store.
//
// # The journey of an event
//
// Whatever may change a task is an event: a webhook, the end of an agent, a timer, an
// operator's request. An event is a job of the queue.
//
//	webhook, timer, operator ──▶ event job ──▶ load the task, read the board or the host again
//	                                 ▲              gates judge what the edge names
//	                                 │              stage.Machine decides
//	agent or effect that has ended ──┘              Store.Commit: one transaction
//	                                                   ├──▶ agent job  ──▶ an agent's attempt
//	                                                   └──▶ effect job ──▶ a write to the outside
//
// The transaction checks the task's version, writes its row, its journal and the verdicts,
// finishes the event and puts the jobs that follow. A decision that lost a race is made
// again. Effects are made at least once; each has a key or a condition, so that a second
// time changes nothing.
//
// # Pools and lanes
//
// Workers take jobs from pools. Events run in the order of their work item, agents at most
// Options.MaxConcurrency at a time. Each destination of effects (comments, board, chat,
// git, host, workspace) is a lane with workers and health of its own: one that does not answer delays
// no other. A gate that runs a command is judged in a pool of its own. A claim lives by its
// heartbeat; when that is missed the job goes to another worker, and the attempt number
// lets only one of them finish it.
//
// The type of an error decides what becomes of a job: see package fault.
//
// # Features
//
// A [Feature] adds behaviour as a value: edges and rules of the state machine, gates,
// runners of effects, holds on jobs, loops, words for people. [New] takes those that are
// on; there is no other switch. The packages below features are those of this module.
//
// # What a host program gives
//
//   - [Deps]: the store with its queue, the projects, and the ports: tracker, git host,
//     workspaces, agents. The doubles (memstore, memtracker, memhost, memwork) have the
//     same conformance suites as the adapters.
//   - Runners of the effects: effects.Runners makes the usual ones.
//   - Gates: checks.All are the built-in ones; a [Project] can name more.
//   - A pipeline: stage.Default is the built-in one.
//   - Webhooks: package web receives, verifies and stores them; [TrackerJob] and [HostJob]
//     make the jobs.
//
// Package service gives all of that to [New], and serves; a program that embeds the engine
// begins there. [Engine.Run] works until its context ends. Package explain reports what a task waits for
// and what would end that. Package orchestratortest tests gates and features with a whole
// engine under a virtual clock.
package orchestrator
