package conformance

func serviceRows() []row {
	const s = "What the service does"
	return []row{
		{"does.worktree", s, "Each agent works in a worktree of its task's branch, apart from what is shared.", []string{server + "TestWholeLife", agents + "TestJailedAgent"}},
		{"does.features", s, "A feature that is switched off is as if it were not there, and one that is on goes on after a kill.", []string{engine + "TestSwitchedOffIsTheBase", wires + "TestSwitches", server + "TestStopOutlivesTheServer", server + "TestSerialGateAndFreeze", feature + "mergegate TestMergeGateRestart"}},
		{"does.self", s, "The merge gate and the deployment in two phases are by default for the service's own repository alone.", []string{server + "TestWhatTheHostTells", server + "TestWholeLife", feature + "mergegate TestCovers", engine + "TestJourney"}},
	}
}

func taskRows() []row {
	const s = "Resources: Task"
	return []row{
		{"task.id", s, "Ids rise in the order of creation.", []string{server + "TestSerialGateAndFreeze", store + "TestStoreConformance/ids rise and are never used twice"}},
		{"task.work_item_id", s, "Prefix of the registry and number of the card, unique in the repository: a number that is taken is followed by the next free one.", []string{server + "TestWholeLife", engine + "TestNamesThatAreTaken"}},
		{"task.tracker_issue_id", s, "The id of the card; a task is found by it.", []string{server + "TestWholeLife", engine + "TestConcurrentStartsMakeOneTask", store + "TestStoreConformance/tasks are listed by filter"}},
		{"task.repo", s, "The repository that the registry names for the board.", []string{server + "TestWholeLife", server + "TestSerialGateAndFreeze"}},
		{"task.branch", s, "feature/<work item>-<slug>; the slug has 30 characters at most and is `untitled` when nothing is left; a branch of another task is not shared.", []string{server + "TestWholeLife", engine + "TestNamesThatAreTaken", engine + "TestHostileTitles", tasks + "TestSlug"}},
		{"task.stage", s, "The current stage.", []string{server + "TestWholeLife"}},
		{"task.title", s, "Kept as it was when the task was made.", []string{server + "TestWholeLife"}},
		{"task.tracker_message_id", s, "The id of the live message.", []string{server + "TestWholeLife", feature + "livemessage TestLiveMessage"}},
		{"task.brd_review", s, "The clock of the review begins when the requirements are ready and ends when the task goes from analysis to architecture.", []string{server + "TestWholeLife", engine + "TestJourney"}},
		{"task.cancelled", s, "cancel_requested_at and cancelled_at are set by STOP.", []string{server + "TestStopOfRealAgents/hostile", server + "TestStopOfRealAgents/merge"}},
		{"task.tombstone", s, "The names of a cancelled task are tombstoned, its card's id can be read out of that, and a later To Analyse makes a new task.", []string{server + "TestStopOfRealAgents/hostile", tasks + "TestTombstoneRoundTrip"}},
	}
}

func recordRows() []row {
	const run, l = "Resources: Agent run", "Resources: Merge lease"
	return []row{
		{"job.fields", "Resources: Job", "A job has a task, a status, a role and a moment from which it may be taken; it can be put with a delay.", []string{server + "TestStopOfRealAgents/hostile", engine + "TestAgentFailures", store + "TestQueueConformance/a delayed job is not claimable before its time", store + "TestQueueConformance/a job is read back as it was put"}},
		{"job.cancelled", "Resources: Job", "cancelled is terminal: such a job is never taken again, over a kill of the server too.", []string{server + "TestStopOutlivesTheServer", store + "TestQueueConformance/cancel ends queued and running jobs for good"}},
		{"run.usage", run, "Each run is recorded with its model, its four kinds of tokens and its cost.", []string{server + "TestWholeLife", engine + "TestJourney", store + "TestStoreConformance/an agent run is recorded once for each attempt"}},
		{"run.model", run, "The model comes from the usage by model, without the prefixes of provider and vendor.", []string{server + "TestWholeLife", printed + "TestShortModel", printed + "TestParse"}},
		{"run.input", run, "Shown input is the sum of the three kinds, with what was cached beside it.", []string{server + "TestWholeLife"}},
		{"run.cost", run, "The cost is what the agent reported.", []string{server + "TestWholeLife"}},
		{"record.job_deps", "Resources: Task dependency", "That the jobs of one task wait for another is kept in a table that is made if absent.", []string{server + "TestOlderDatabase", store + "TestStoreConformance/dependencies are kept by source"}},
		{"record.freeze", "Resources: Repo freeze", "A freeze is set by a degraded deployment, outlives a kill and is cleared by unfreeze.", []string{server + "TestSerialGateAndFreeze", feature + "serialgate TestFreeze"}},
		{"record.registry", "Resources: Project registry", "The registry maps a tracker project to repository, prefix and the project that statuses and comments go to.", []string{engine + "TestSyncProject", reg + "TestParse"}},
		{"lease.file", l, "One for each repository, in a file.", []string{lease + "TestConformance/names are separate"}},
		{"lease.exclusive", l, "Made atomically: two never have it.", []string{lease + "TestConformance/contenders never hold together", lease + "TestProcesses", lease + "TestHistory"}},
		{"lease.holder", l, "Only its holder gives it back.", []string{lease + "TestConformance/release gives back only one's own", feature + "mergegate TestMergeGateBusy"}},
		{"lease.stale", l, "A stale one is taken over, a torn one too.", []string{lease + "TestConformance/an expired lease can be taken over", lease + "TestTornFileIsHeldUntilItIsOld"}},
	}
}

func settingRows() []row {
	const s = "Resources: Settings"
	off := []string{server + "TestSwitchesOfTheServer", wires + "TestSwitches", engine + "TestSwitchedOffIsTheBase", engine + "TestUnusedFeaturesAreTheBase"}
	return []row{
		{"ORCH_QG0_TITLE_MAX", s, "The title limit of QG-0, default 200.", []string{gate + "TestTitleMaxIsReadAtEachCall"}},
		{"ORCH_STOP_STATUS_ENABLED", s, "The switch of STOP; off is the same as without.", off},
		{"ORCH_SERIAL_GATE_ENABLED", s, "The switch of the serial gate; off is the same as without.", off},
		{"ORCH_SERIAL_GATE_REPOS", s, "The repositories that it holds for.", []string{server + "TestSerialGateAndFreeze", feature + "serialgate TestSerialGateOfOtherRepositories"}},
		{"ORCH_SERIAL_GATE_FREEZE_ENABLED", s, "Whether a degraded deployment freezes.", []string{server + "TestFreezeSwitchedOff", server + "TestSerialGateAndFreeze"}},
		{"ORCH_TASK_DEPS_ENABLED", s, "The switch of dependencies; off is the same as without.", off},
		{"ORCH_TASK_DEPS_SOURCE", s, "Where dependencies come from; `db` reads the table alone.", []string{server + "TestSourcesOfDependencies/db", server + "TestSourcesOfDependencies/tracker"}},
		{"ORCH_PREMERGE_REBASE_ALWAYS", s, "Whether each branch is rebased before the merge, default true.", []string{server + "TestRebaseAlways/true", server + "TestRebaseAlways/false"}},
		{"ORCH_MERGE_GATE_ENABLED", s, "The switch of the merge gate; off is the same as without.", append(off, feature+"mergegate TestMergeGateSwitchedOff")},
		{"ORCH_MERGE_GATE_REPOS", s, "The repositories of the merge gate, by default those of the service itself.", []string{server + "TestWholeLife", feature + "mergegate TestCovers"}},
		{"ORCH_MERGE", s, "Further settings of the merge gate: how often and how long a busy lease is asked for, and its time to live.", []string{feature + "mergegate TestMergeGateBusy", lease + "TestConformance/an expired lease can be taken over"}},
		{"ORCH_RECONCILE_ENABLED", s, "The switch of the reconciler; off is the same as without.", []string{wires + "TestSwitches", engine + "TestSwitchedOffIsTheBase"}},
		{"ORCH_RECONCILE_TRACKER_ENABLED", s, "The switch of its reading of boards.", []string{server + "TestSwitchesOfTheServer"}},
		{"ORCH_MAX_CONCURRENCY", s, "Bounds the jobs of agents that run at a time.", []string{engine + "TestExplain"}},
		{"ORCH_MAX_DEVELOPER_RETRIES", s, "Bounds how often a task is sent back.", []string{engine + "TestRedCIGoesBackUntilRetriesAreUsedUp"}},
		{"ORCH_RECONCILE_GRACE", s, "How long a stage may stand still before the reconciler looks.", []string{feature + "reconcile TestStalledTasksGoOn"}},
	}
}

func limitRows() []row {
	const s = "Limits"
	return []row{
		{"limit.title", s, "The title limit is read at each call and counts characters.", []string{gate + "TestTitleMaxIsReadAtEachCall"}},
		{"limit.slug", s, "A slug has 30 characters.", []string{server + "TestWholeLife", tasks + "TestSlug"}},
		{"limit.retries", s, "Retries of the developer are capped; then the card is Blocked, with one notice.", []string{engine + "TestRedCIGoesBackUntilRetriesAreUsedUp"}},
		{"limit.defers", s, "A merge waits in line for `ORCH_MERGE_LINE_MAX` (24 h) at most; then the card is Blocked and names who has the lease, since when, and the way on.", []string{feature + "mergegate TestMergeLineBound"}},
	}
}

func versionRows() []row {
	const s = "Versioning"
	return []row{
		{"version.additive", s, "Schema changes add, and opening twice changes nothing.", []string{server + "TestOlderDatabase", tracks + "TestTracksMigration"}},
		{"version.live", s, "A live database needs no hand: work of before goes on.", []string{server + "TestOlderDatabase", engine + "TestOldJournalsReplay"}},
	}
}

func trackRows() []row {
	const (
		res, life, api, errs, lim = "Resources: GPS track layer", "GPS layer", "GPS track API", "Errors", "Limits"

		track, collect, files, http, shell = "gpstracks ", "gpstracks/collect ", "adapters/gpsfile ", "gpstracks/trackhttp ", "examples/collect "
	)
	return []row{
		{"tracks.key", res, "A key of bounding box, length and day; a track whose key is known makes no second row.", []string{shell + "TestFiles", track + "TestDedupeKey", track + "TestDedupeKeyOnEveryBorder", tracks + "TestTracksConformance/a known key makes no second track"}},
		{"tracks.fields", res, "A track has source, activity, bounding box, length and day.", []string{server + "TestTracksDocument", http + "TestList"}},
		{"tracks.runs", res, "A row for each run of the collector.", []string{collect + "TestRegion", collect + "TestDryRun", tracks + "TestTracksConformance/runs are kept and the last one is found"}},
		{"tracks.sources", res, "One open source of map data is on, two more are off and have no parser.", []string{files + "TestBuiltIn", wires + "TestTracks"}},
		{"tracks.regions", res, "One set of regions is on, one is off.", []string{files + "TestBuiltIn", shell + "TestExitCodes"}},
		{"tracks.migration", "Versioning", "SQL files named by domain, number and name make both tables.", []string{tracks + "TestTracksMigration"}},
		{"tracks.licence", life, "Only a source with an accepted record is run.", []string{shell + "TestExitCodes", collect + "TestLicenceGuard", files + "TestRecords"}},
		{"tracks.refused", errs, "A source without an accepted record is not run, and the run says why.", []string{shell + "TestExitCodes", collect + "TestLicenceGuard"}},
		{"tracks.list", api, "GET /api/gps-tracks: the tracks of a box as GeoJSON.", []string{server + "TestTracksDocument", http + "TestList", http + "TestListFilters"}},
		{"tracks.tile", api, "GET /api/gps-tracks/tiles/{z}/{x}/{y}.mvt: a vector tile.", []string{server + "TestTracksDocument", http + "TestTile"}},
		{"tracks.health", api, "GET /api/gps-tracks/health.", []string{server + "TestTracksDocument", http + "TestHealth"}},
		{"tracks.clear", api, "POST /api/gps-tracks/cache/clear, with the operator's token.", []string{server + "TestTracksDocument", http + "TestClear"}},
		{"tracks.collector", api, "The collector takes --region, --source, --dry-run and --gc.", []string{server + "TestTracksDocument", shell + "TestCollect", shell + "TestExitCodes"}},
		{"tracks.cache", lim, "The cache of tiles is LRU, of 1024 tiles.", []string{wires + "TestTracks", http + "TestCache"}},
	}
}
