package conformance

func transitionRows() []row {
	const s, d = "Transitions shown", "States and transitions"
	return []row{
		{"go.start", s, "To Analyse on a card without a task that QG-0 accepts: task, branch, worktree and analyst, at analysis; where the serial gate holds, branch and documents come later.", []string{server + "TestWholeLife", server + "TestSerialGateAndFreeze", engine + "TestJourney"}},
		{"go.qg0", s, "To Analyse that QG-0 refuses: no task, the card is Blocked.", []string{engine + "TestQG0Refuses"}},
		{"go.analyst", s, "The analyst's end leaves the task at analysis, with a comment that asks for approval.", []string{server + "TestWholeLife"}},
		{"go.approved", s, "Approved with the required files: architecture, the clock of the review ends, the architect starts.", []string{server + "TestWholeLife", engine + "TestNothingToApprove"}},
		{"go.ci_red", s, "Red CI sends the task back to the developer, capped.", []string{engine + "TestRedCIGoesBackUntilRetriesAreUsedUp"}},
		{"go.ci_green", s, "Green CI takes development on to review.", []string{server + "TestWholeLife", engine + "TestLostCIWebhook"}},
		{"go.mergeable", s, "With the lease, up to date with main and green again: deploy, and the lease is kept.", []string{server + "TestWholeLife"}},
		{"go.lease_busy", s, "While another has the lease the task stands in line, in the order in which tasks came, without asking again; a day at most.", []string{feature + "mergegate TestMergeGateBusy", feature + "mergegate TestMergeLineBound"}},
		{"go.sent_back", s, "A conflict or red tests on the new main: development, the developer again, capped, the lease is free.", []string{feature + "mergegate TestMergeGateConflict", feature + "mergegate TestMergeGateRedRetest"}},
		{"go.phase_a", s, "The service's own repository: the deployer prepares, and a comment asks for Confirm Deploy.", []string{server + "TestWholeLife"}},
		{"go.phase_b", s, "Confirm Deploy at deploy starts the deployment.", []string{server + "TestWholeLife"}},
		{"go.approved_at_deploy", s, "Approved at deploy does nothing.", []string{server + "TestWholeLife", engine + "TestSelfHostingWaitsForConfirmDeploy"}},
		{"go.deployed", s, "The deployer's report of success: done, the lease is free.", []string{server + "TestWholeLife", feature + "mergegate TestMergeGate"}},
		{"go.merged_at_deploy", s, "A merge at deploy finishes nothing.", []string{server + "TestWhatTheHostTells"}},
		{"go.merged", s, "A merge by a person at another stage: done, the lease is free.", []string{server + "TestWhatTheHostTells", feature + "mergegate TestMergeGateEnds/merged by a human"}},
		{"go.stop", s, "STOP at any stage that is not terminal: cancelled.", []string{engine + "TestStopAtEachStage", feature + "stop TestStopOfAFinishedTaskAndByAnOperator", server + "TestStopOfRealAgents/hostile"}},
		{"go.rejected_early", d, "Rejected at analysis or architecture runs that role again, with the reason.", []string{server + "TestWholeLife", engine + "TestRejectedAtEachStage/analysis", engine + "TestRejectedAtEachStage/architecture"}},
		{"go.rejected_late", d, "Rejected from development to the prepared deployment: development, with the reason.", []string{engine + "TestRejectedAtEachStage/development", engine + "TestRejectedAtEachStage/review", engine + "TestRejectedAtEachStage/testing", engine + "TestRejectedAtEachStage/deploy-staging", engine + "TestRejectedAtEachStage/deploy, before Confirm Deploy"}},
		{"go.rejected_deployment", d, "Rejected on a deployment that is under way does nothing; on one that failed: development.", []string{engine + "TestRejectedAtEachStage/deploy, under way", engine + "TestRejectedAfterAFailedDeployment"}},
	}
}

func statusRows() []row {
	const s = "Board statuses"
	return []row{
		{"status.to_analyse", s, "The only beginning, by webhook and by the reconciler.", []string{server + "TestWholeLife", feature + "reconcile TestBoardWithoutWebhooks"}},
		{"status.in_progress", s, "At analysis without a job the analyst runs again; with one, at other stages and without a task it does nothing.", []string{server + "TestWholeLife", engine + "TestMovesThatMeanNothing"}},
		{"status.approved", s, "Passes a gate of people; never a deployment.", []string{server + "TestWholeLife", engine + "TestMovesThatMeanNothing"}},
		{"status.rejected", s, "With the newest comment of a person, without markup, or a fixed note when there is none or it cannot be read.", []string{server + "TestWholeLife", engine + "TestRejectionTakesTheNewestComment", engine + "TestRejectionCarriesTheReason"}},
		{"status.needs_input", s, "Shows that questions are open.", []string{engine + "TestQuestionsWaitForAnAnswer"}},
		{"status.in_review", s, "Shows that a person looks at the requirements.", []string{server + "TestWholeLife"}},
		{"status.blocked", s, "Shows a refusal by QG-0, a circle of dependencies, a degraded deployment.", []string{server + "TestSerialGateAndFreeze"}},
		{"status.done", s, "Shows the end.", []string{server + "TestWholeLife", engine + "TestJourney"}},
		{"status.confirm_deploy", s, "Counts at deploy alone, and starts the deployment.", []string{server + "TestWholeLife", engine + "TestMovesThatMeanNothing"}},
		{"status.stop", s, "Cancels.", []string{server + "TestStopOfRealAgents/hostile"}},
		{"status.analysis", s, "Shows that the analyst works.", []string{server + "TestWholeLife"}},
		{"status.code_review", s, "Shows that the reviewer works.", []string{server + "TestWholeLife"}},
		{"status.awaiting_deploy", s, "Shows that the deployment is prepared.", []string{server + "TestWholeLife"}},
		{"status.deploying", s, "Shows that it is deployed.", []string{server + "TestWholeLife"}},
		{"status.monitoring", s, "Shows that what was deployed is looked at.", []string{server + "TestWholeLife"}},
	}
}

func ruleRows() []row {
	const s = "Board statuses: Rules"
	return []row{
		{"rule.comments", s, "Comments drive nothing; their events are logged.", []string{server + "TestWholeLife", web + "TestIgnored"}},
		{"rule.created", s, "A new card starts nothing; what QG-0 says of it is logged.", []string{engine + "TestSoftQG0IsLogged", engine + "TestCreatedItemStartsNothing"}},
		{"rule.self_hosting", s, "The service's own repository: Awaiting Deploy, Deploying, Monitoring after Deploy; others: Done.", []string{server + "TestWholeLife", server + "TestOlderDatabase"}},
		{"rule.monitor", s, "Healthy: Done. Degraded: Blocked, an alert and a freeze; of the service's own repository Blocked and an alert, without a freeze.", []string{server + "TestWholeLife", server + "TestSerialGateAndFreeze", feature + "monitor TestMonitorDegraded", feature + "monitor TestMonitorOfTheServiceItselfOnlyAlerts"}},
		{"rule.columns", s, "Columns are found by name on each board and remembered; unreadable ones by the defaults that are set; a missing one by its fallback, Confirm Deploy never.", []string{server + "TestBoardWithoutABeginning", board + "TestConformance/a missing column falls back", board + "TestUnreadableColumns", board + "TestColumnMadeAnew", feature + "reconcile TestFallbackColumnsAreOurOwn"}},
		{"rule.never_raise", s, "Neither the reconciler nor who looks columns up brings the service down, whatever the tracker answers.", []string{server + "TestStartBesideSickNeighbours", feature + "reconcile TestBrakeAndOutage", engine + "TestTrackerOutage"}},
	}
}

func outRows() []row {
	const s = "Events: Outgoing"
	return []row{
		{"out.live", s, "One message for each task, edited without a sound at each transition and sent anew when it cannot be: a line for each stage with tokens, cost and model, the review's time, totals; at the end wall, agents' and human time and links; and what is waited for.", []string{server + "TestWholeLife", feature + "livemessage TestLiveMessage", feature + "livemessage TestLiveMessageFailures", feature + "livemessage TestLiveMessageOfATaskThatWaits"}},
		{"out.notices", s, "Only approval, failed deployment, failed agent and task error make a sound, and alerts of a circle, a freeze and an unblock.", []string{server + "TestWholeLife", feature + "livemessage TestNoticesAreFew", engine + "TestAgentFailures", engine + "TestRejectedAfterAFailedDeployment", server + "TestSerialGateAndFreeze", feature + "reconcile TestUnblocks"}},
		{"out.comments", s, "Comments: start, request for approval, an agent's end with usage and links, transitions, request for Confirm Deploy.", []string{server + "TestWholeLife", engine + "TestCommentsOfALife", engine + "TestLinksToWhatIsThere"}},
		{"out.statuses", s, "The board shows the statuses of the table.", []string{server + "TestWholeLife"}},
	}
}

func errorRows() []row {
	const s = "Errors"
	return []row{
		{"error.title", s, "A title that is too long: the limit stands in the text, the card is Blocked.", []string{engine + "TestTitleOfTenThousandCharacters"}},
		{"error.description", s, "A description that is empty after it was read at the tracker: refused.", []string{engine + "TestEmptyDescriptionAfterTheFetch"}},
		{"error.soft", s, "QG-0 of a new card only warns.", []string{engine + "TestSoftQG0IsLogged"}},
		{"error.unregistered", s, "Events of boards and repositories that nobody has registered are ignored.", []string{server + "TestWhatTheHostTells", web + "TestIgnored"}},
		{"error.no_confirm", s, "Without a column Confirm Deploy nothing is deployed.", []string{board + "TestConfirmDeployFailsClosed"}},
		{"error.lease_busy", s, "A busy lease defers and is no failure.", []string{feature + "mergegate TestMergeGateBusy"}},
		{"error.sent_back", s, "A conflict or red tests before the merge go to the developer, capped.", []string{feature + "mergegate TestMergeGateConflict", feature + "mergegate TestMergeGateRedRetest"}},
		{"error.cycle", s, "A circle of dependencies: Blocked and an alert.", []string{feature + "deps TestDependencyCycle"}},
		{"error.stop_off", s, "STOP without its switch has no effect.", []string{server + "TestSwitchesOfTheServer", feature + "stop TestStopSwitchedOff"}},
		{"error.command", s, "The exit codes of a command that is a gate: 0 is green, 2 is red with its words, any other is an error.", []string{git + "TestRunCheck", gate + "TestFixtures"}},
		{"error.bad_title_max", s, "A bad title limit is 200, and the service starts.", []string{server + "TestBadTitleLimitFallsBack"}},
	}
}
