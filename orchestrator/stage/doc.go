// Package stage is the pure core of the orchestrator: a machine that decides
// what an event means for a task. It does no input or output, has no clock and
// never fails; a decision is data that others carry out.
//
//	         To Analyse / qg0
//	               │
//	               ▼
//	           analysis ◀── Rejected, In Progress
//	               │ Approved / check_analysis_approved
//	               ▼
//	          architecture ◀── Rejected, red
//	               │ architect finished / check_architecture_ready
//	               ▼
//	┌────────▶ development ◀── red CI, Rejected
//	│              │ CI / check_ci_green
//	│              ▼
//	├── red ──── review          (reviewer or host review)
//	│              ▼
//	├── red ──── testing
//	│              ▼
//	├── red ── deploy-staging
//	│              ▼
//	└─ Rejected ─ deploy: A ─ Confirm Deploy ─▶ merge ─▶ B
//	               │ deployer finished / check_deploy_status
//	               ▼
//	             done                          cancelled (sink)
//
// The transition registry (Pipeline) is a table of edges. Machine.Edge names
// the row that an event meets and thereby the gates to judge; Machine.Decide
// takes the verdict and answers with the new State, at most one agent job, the
// effects owed to the outside world and the reasons in words. Print and Mermaid
// draw the same table, and Validate checks it at start.
//
// The traces in testdata read like the specification: each is a story of events
// and the decisions that they meet.
package stage
