// Package fakehost is what the doubles of git hosts (githubtest, giteatest) have in
// common: real bare repositories, which are pushed to and merged in with git; an API whose
// calls can be made to fail; and webhooks that get lost, doubled and reordered.
package fakehost

import "time"

// Outcome holds what CI reports of a commit.
type Outcome struct {
	Conclusion string // success, failure, cancelled, …; empty = nothing runs
	Title      string
	After      time.Duration
}

// Push is a branch head that CI is called with.
type Push struct {
	Repo, Branch, SHA string
	// File reads a file of the commit.
	File func(path string) ([]byte, error)
}

// Pull is a pull request.
type Pull struct {
	Repo               string
	Number             int
	Title, Body        string
	Head, Base         string // branches
	HeadSHA            string // of the last push, also when it is closed
	Author             string
	Open, Merged       bool
	MergeSHA           string
	Created, MergeTime time.Time
}

// Fault names what an API call meets.
type Fault string

// Faults of API calls.
const (
	None        Fault = ""
	TooMany     Fault = "429"
	Secondary   Fault = "403 secondary" // with Retry-After
	Primary     Fault = "403 primary"   // with X-RateLimit-Reset
	Denied      Fault = "403"           // for good
	ErrorBefore Fault = "500 before"    // nothing happens
	ErrorAfter  Fault = "500 after"     // the request is carried out all the same
	Dropped     Fault = "dropped"       // the connection breaks before anything happens
	DroppedLate Fault = "dropped late"
	Hang        Fault = "time-out" // the request is carried out, and no answer comes until the client gives up
)

// Faults are chances, between 0 and 1, that hold until they are set anew.
type Faults struct {
	TooMany, Secondary, Primary, ErrorBefore, ErrorAfter, Dropped, DroppedLate, Hang float64 // of API calls

	HookLost      float64       // a webhook is never sent
	HookDoubled   float64       // a webhook is sent twice, with one id
	HookReordered float64       // a webhook is sent after the next one, or after a second
	HookDelay     time.Duration // at most; webhooks overtake each other
}
