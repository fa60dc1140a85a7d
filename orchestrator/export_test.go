package orchestrator

// What tests use and no other package does.
var BoardKey = boardKey

const NoReason = noReason
