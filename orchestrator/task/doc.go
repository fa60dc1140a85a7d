// Package task holds what the pipeline keeps: tasks with their names, the registry of
// projects, the journal, and the ports of the store that keeps them.
//
// A Task is one run of one card through the pipeline; where it stands is its stage.State.
// A Project maps a project of the board to a repository and says how work is done there.
// Names (Slug, WorkItemID, BranchName) are made here, and so are tombstones, which free the
// names of a cancelled task for the next one.
//
// Stores implement Store, Records, History, CostStore, Dependencies and Pruner; the suite
// in orchestrator/storetest says what each promises. The package decides nothing: that is
// package stage, and package orchestrator carries decisions out.
package task
