package main

import "golang.org/x/sys/unix"

// hideMemory keeps other processes of the same user, agents among them, from reading
// this one's memory and environment (/proc/PID/mem and environ): tokens are there.
func hideMemory() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
