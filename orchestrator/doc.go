// Package orchestrator is the engine: it takes work items from a tracker through a
// pipeline of stages, where agents work and gates judge, to a merge and a deployment.
//
// A program that embeds it begins with package service, which makes an [Engine] of ports
// ([Deps]: tracker, git host, store with queue, workspaces, agents) and serves. The
// doubles memstore, memtracker, memhost and memwork have the same conformance suites as
// the adapters. Package explain reports what a task waits for and what would end that,
// and package orchestratortest tests gates and features under a virtual clock.
//
// Whatever may change a task is an event: a webhook, the end of an agent, a timer, a
// person's request. An event is a job of the queue.
//
//	webhook, timer, person ──▶ event job ──▶ load the task, read the board or the host again
//	                               ▲              gates judge what the edge names
//	                               │              stage.Machine decides
//	agent or effect that has ended ┘              Store.Commit: one transaction
//	                                                 ├──▶ agent job  ──▶ an agent's attempt
//	                                                 └──▶ effect job ──▶ a write to the outside
//
// What is decided is in the store when that transaction ends, so a process can die at any
// moment, and several can share one store. The type of an error decides what becomes of a
// job: see package fault. A [Feature] adds behaviour as a value.
package orchestrator
