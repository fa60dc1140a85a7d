// Package explain reports why a task stands where it stands, who ends that and how, and shows
// the queue as the scheduler sees it.
//
// Its words come from what decides: the state of the stage machine, the registry of
// transitions, the reasons of the queue and the breakers of the lanes. One explains a task,
// All many tasks with one reading of the queue, ReadQueue is what GET /queue shows. Nothing
// here changes anything.
package explain
