// Package stage decides what an event means for a task. It is the pure core of the
// orchestrator, of use without the rest: no input or output, no clock, no failure.
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
// A [Pipeline] is a table of such edges, [Default] the one above. [Machine.Edge] names the
// row that an event meets and the gates to judge; [Machine.Decide] takes their verdict. A
// [Decision] is data that others carry out: the new State, at most one agent job, what is
// owed to the outside world, and why. The traces in testdata are stories of both.
package stage
