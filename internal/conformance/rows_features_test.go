package conformance

func stopRows() []row {
	const s = "STOP cancellation"
	return []row{
		{"stop.requested", s, "cancel_requested_at is set.", []string{server + "TestStopOfRealAgents/hostile", server + "TestStopOfRealAgents/merge"}},
		{"stop.agent", s, "The agent gets TERM, and whatever it has started is gone after that.", []string{server + "TestStopOfRealAgents/hostile", agents + "TestATermIsHeard", agents + "TestNothingOutlivesARun"}},
		{"stop.jobs", s, "All its jobs are cancelled for good.", []string{server + "TestStopOfRealAgents/hostile", server + "TestStopOutlivesTheServer"}},
		{"stop.git", s, "Worktree and remote branch are removed; main is never deleted, and a person's commits stay.", []string{server + "TestStopOfRealAgents/hostile", git + "TestProtectedBranches"}},
		{"stop.cancelled", s, "The stage is cancelled, names are tombstoned, documents are kept.", []string{server + "TestStopOfRealAgents/hostile"}},
		{"stop.window", s, "In the middle of a merge or deployment it waits until that has finished.", []string{server + "TestStopOfRealAgents/merge", server + "TestStopOfRealAgents/deployment", feature + "stop TestStopInTheMiddleOfADeployment"}},
		{"stop.off", s, "Without its switch it has no effect.", []string{server + "TestSwitchesOfTheServer", feature + "stop TestStopSwitchedOff"}},
	}
}

func serialRows() []row {
	const s = "Serial gate"
	return []row{
		{"serial.order", s, "The analyst of a task is not started while an earlier task of the repository is not terminal, or while that is frozen.", []string{server + "TestSerialGateAndFreeze", feature + "serialgate TestSerialGate", feature + "stop TestStopBeforeAClaim"}},
		{"serial.errors", s, "An internal error of the gate holds nobody; a freeze that cannot be read lets nobody start.", []string{feature + "serialgate TestSerialGateFailsOpen", store + "TestHoldsFailClosed"}},
		{"serial.branch", s, "Branch and documents are made when the analyst's job is taken, on the newest main.", []string{server + "TestSerialGateAndFreeze", feature + "serialgate TestSerialGate"}},
		{"serial.unfreeze", s, "Unfreeze ends the freeze.", []string{server + "TestSerialGateAndFreeze"}},
	}
}

func dependencyRows() []row {
	const s = "Task dependencies"
	return []row{
		{"deps.wait", s, "Jobs wait for a task that is not terminal and take no slot meanwhile; without rows nothing changes.", []string{feature + "deps TestWaitingTakesNoSlot", feature + "deps TestDependenciesOfACancelledTask", engine + "TestUnusedFeaturesAreTheBase"}},
		{"deps.errors", s, "What cannot be read counts as ready.", []string{feature + "deps TestDependenciesFailOpen"}},
		{"deps.cycle", s, "A circle is Blocked, with one alert, also when it closes later.", []string{feature + "deps TestDependencyCycle", feature + "deps TestDependencyAgainstTheSerialGate"}},
		{"deps.sources", s, "They come of the table and of relations of cards.", []string{server + "TestSourcesOfDependencies/db", board + "TestRelations"}},
	}
}

func mergeRows() []row {
	const s = "Merge gate"
	return []row{
		{"merge.rebase", s, "Under the lease the branch is always rebased and pushed with lease, that branch alone; one that is up to date is not pushed, and CI does not start.", []string{server + "TestRebaseAlways/true", feature + "mergegate TestMergeGateUpToDate", git + "TestCatchUp", git + "TestPushRefuses"}},
		{"merge.release", s, "The lease is free after the deployment, when the task is sent back, and when a person has merged.", []string{server + "TestWholeLife", feature + "mergegate TestMergeGateEnds/merged by a human", feature + "mergegate TestMergeGateEnds/rejected"}},
		{"merge.behind", s, "Without ORCH_PREMERGE_REBASE_ALWAYS only a branch that is behind is touched; without the gate one that cannot be merged is brought up to date.", []string{server + "TestRebaseAlways/false", engine + "TestConflictWithoutTheMergeGate"}},
	}
}

func reconcilerRows() []row {
	const s = "Reconciler"
	return []row{
		{"reconcile.f1", s, "F-1: a task without a job that stands still for longer than its grace is judged by its gate; green goes on, red is silent, analysis is left alone.", []string{feature + "reconcile TestStalledTasksGoOn", feature + "reconcile TestReconcilerOnlyLooks"}},
		{"reconcile.f2", s, "F-2: boards are read page by page, and moves that were lost are replayed.", []string{feature + "reconcile TestBoardWithoutWebhooks", feature + "reconcile TestBoardsAreReadInPages", board + "TestListShapes", feature + "reconcile TestConvergence"}},
		{"reconcile.f3", s, "F-3: a CI result without a branch is the only development task's, and nobody's when there are two.", []string{feature + "reconcile TestCIWithoutABranch", engine + "TestCIOfAnUnknownCommit"}},
		{"reconcile.race", s, "A webhook and the reconciler make one task, branch, worktree and job.", []string{feature + "reconcile TestReconcilerAndWebhookRace", engine + "TestConcurrentStartsMakeOneTask", store + "TestStoreConformance/one of many concurrent starts wins"}},
		{"reconcile.told", s, "An unblock is logged and sent to people.", []string{feature + "reconcile TestUnblockIsLogged", feature + "reconcile TestUnblocks"}},
	}
}

func endpointRows() []row {
	const s, o = "Endpoints: Orchestrator", "Outbound calls the service makes"
	return []row{
		{"http.queue", s, "GET /queue has the blocks stop, serial_gate, reconcile and of dependencies.", []string{server + "TestSwitchesOfTheServer", server + "TestSerialGateAndFreeze", server + "TestStopOfRealAgents/deployment"}},
		{"http.unfreeze", s, "POST /serial-gate/unfreeze ends a freeze.", []string{server + "TestSerialGateAndFreeze"}},
		{"http.tracker", s, "A receiver of the tracker's webhooks.", []string{server + "TestWholeLife", web + "TestBadInput"}},
		{"http.host", s, "A receiver of the git host's webhooks.", []string{server + "TestWhatTheHostTells", web + "TestBadInput"}},
		{"http.webhook", s, "A webhook is stored and answered, whatever its work waits for; a delivery that comes again is not worked twice.", []string{server + "TestStartBesideSickNeighbours", server + "TestWhatTheHostTells", web + "TestWebhookIsStoredOnce", web + "TestStoreOutage"}},
		{"out.tracker", o, "Tracker: columns, card, comments, listing by cursor; set a status, post a comment as a role.", []string{server + "TestWholeLife", board + "TestConformance"}},
		{"out.host", o, "Host: remove a branch, branches of a commit, CI of a commit.", []string{server + "TestStopOfRealAgents/hostile", engine + "TestHostWebhooks", host + "TestConformance"}},
		{"out.messenger", o, "Messenger: send a message, edit it in place.", []string{server + "TestWholeLife", chat + "TestConformance"}},
		{"http.fetch", o, "Name and description are read at the tracker when a task starts, and QG-0 judges those.", []string{engine + "TestEmptyDescriptionAfterTheFetch"}},
	}
}

func authRows() []row {
	const s = "Authentication"
	return []row{
		{"auth.roles", s, "Each role comments with its own token; without one, with the shared one.", []string{server + "TestWholeLife", board + "TestRolesCommentWithTheirOwnToken"}},
		{"auth.shared", s, "Reading and setting statuses is done with the shared token.", []string{server + "TestWholeLife"}},
		{"auth.webhooks", s, "A webhook is taken with a good signature only.", []string{server + "TestWhatTheHostTells", web + "TestBadInput", web + "TestSecretsOfProjects"}},
		{"auth.endpoints", s, "What changes something needs the operator's token.", []string{server + "TestSerialGateAndFreeze", web + "TestOperator", web + "TestPaths"}},
	}
}

func inRows() []row {
	const t, h = "Events: Incoming, tracker", "Events: Incoming, git host"
	return []row{
		{"in.created", t, "A card that was made is judged softly and starts nothing.", []string{engine + "TestSoftQG0IsLogged", engine + "TestCreatedItemStartsNothing"}},
		{"in.updated", t, "A new status is compared with the columns of its board, and starts, judges, confirms or stops.", []string{server + "TestWholeLife", server + "TestStopOfRealAgents/hostile", board + "TestDecode"}},
		{"in.comment", t, "A comment is logged only.", []string{web + "TestIgnored"}},
		{"in.push", h, "A push to an unknown repository is ignored.", []string{server + "TestWhatTheHostTells"}},
		{"in.review", h, "A person's review of the pull request is a result of the review.", []string{server + "TestWhatTheHostTells", engine + "TestReviewByAPerson", engine + "TestReviewByAStranger"}},
		{"in.approved", h, "An approval of the pull request is an approval by the review.", []string{server + "TestWhatTheHostTells", engine + "TestReviewByAPerson"}},
		{"in.ci", h, "CI: its branches, else the branch that has the commit, else the only development task; a failure is logged and alerts nobody.", []string{engine + "TestHostWebhooks", feature + "reconcile TestCIWithoutABranch", engine + "TestRedCIAlertsNobody"}},
		{"in.merged", h, "A merge by a person gives the lease back and ends the task, except at deploy.", []string{server + "TestWhatTheHostTells", feature + "mergegate TestMergeGateEnds/merged by a human"}},
	}
}
