package gitcli

// Failed is the error of a call of git.
type Failed = callError
